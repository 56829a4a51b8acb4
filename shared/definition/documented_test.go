package definition_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

func documentText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// section is what stands below a heading, up to the next one.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("there is no section %q", heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}

var fieldRow = regexp.MustCompile("(?m)^\\| `([a-z_0-9.:: ]+)` \\|")

// fields are the first cells of the tables of a text.
func fields(text string) []string {
	var all []string
	for _, row := range fieldRow.FindAllStringSubmatch(text, -1) {
		all = append(all, row[1])
	}
	slices.Sort(all)
	return all
}

// properties are those of a part of the published schema.
func properties(t *testing.T, path ...string) []string {
	t.Helper()
	var at any
	if err := json.Unmarshal(definition.Schema(), &at); err != nil {
		t.Fatal(err)
	}
	for _, step := range append(path, "properties") {
		at = at.(map[string]any)[step]
	}
	var all []string
	for name := range at.(map[string]any) {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// docs/definition.md has each field of the published schema, and no other.
func TestEachFieldOfADefinitionIsDocumented(t *testing.T) {
	text := documentText(t, "definition.md")
	for heading, want := range map[string][]string{
		"The document": properties(t),
		"Components":   properties(t, "$defs", "component"),
		"Options":      properties(t, "$defs", "options"),
	} {
		if got := fields(section(t, text, heading)); !slices.Equal(got, want) {
			t.Errorf("%s: the document has %q, the schema %q", heading, got, want)
		}
	}
	tasks := section(t, text, "Built-in tasks")
	for _, task := range fields(tasks) {
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(task) + "` .*$").FindString(tasks)
		for _, parameter := range definition.Parameters(task) {
			if !strings.Contains(row, "`"+parameter+"`") {
				t.Errorf("%s: its parameter %s is not documented", task, parameter)
			}
		}
	}
}

// docs/policies.md has each field of a policy and each matcher.
func TestEachFieldOfAPolicyIsDocumented(t *testing.T) {
	text := documentText(t, "policies.md")
	var plain []string
	for _, name := range properties(t, "$defs", "policyFields") {
		base, ms := strings.CutSuffix(name, "_ms")
		if !ms {
			plain = append(plain, name)
		} else if !strings.Contains(text, "`"+base+"_ms`") {
			t.Errorf("%s is not documented", name)
		}
	}
	if got := fields(section(t, text, "Fields")); !slices.Equal(got, plain) {
		t.Errorf("the document has the fields %q, the schema %q", got, plain)
	}
	if have := slices.Sorted(slices.Values(policy.Fields())); !slices.Equal(have, slices.DeleteFunc(slices.Clone(plain), func(s string) bool { return s == "preset" || s == "inherit" })) {
		t.Errorf("a policy has the fields %q, the schema %q", have, plain)
	}
	var schema struct {
		Defs struct {
			Match struct {
				AnyOf []struct {
					Properties map[string]any `json:"properties"`
				} `json:"anyOf"`
			} `json:"match"`
			Preset struct {
				Enum []string `json:"enum"`
			} `json:"preset"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(definition.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	which := section(t, text, "Which rule applies")
	for _, one := range schema.Defs.Match.AnyOf {
		for name := range one.Properties {
			if !strings.Contains(which, "`"+name+"`") && !strings.Contains(which, name+": ") {
				t.Errorf("the matcher %s is not documented", name)
			}
		}
	}
	presets := section(t, text, "Presets")
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(.+)` \\|$").FindAllStringSubmatch(presets, -1)
	if len(rows) != len(schema.Defs.Preset.Enum) {
		t.Fatalf("%d presets are documented, want %q", len(rows), schema.Defs.Preset.Enum)
	}
	for _, row := range rows {
		if said, is := policyOf(t, row[2]), policyOf(t, "preset: "+row[1]); said != is {
			t.Errorf("the preset %s is %+v, the document says %+v", row[1], is, said)
		}
	}
}

// policyOf is what a step gets whose own policy has these fields.
func policyOf(t *testing.T, said string) policy.Policy {
	t.Helper()
	d, err := definition.Parse(fmt.Appendf(nil, "name: x\ncomponents: {a: {step: b.c, policy: {%s}}}\n", said))
	if err != nil {
		t.Fatal(err)
	}
	g, err := definition.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Resolve(g.Components[0].Rules, policy.Subject{Name: "a", Kind: policy.KindStep, Task: "b.c", Queue: "b"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(name:.*?)```")

func TestDocumentedDefinitionsAreAccepted(t *testing.T) {
	for _, name := range []string{"definition.md", "policies.md", "concepts.md"} {
		blocks := yamlBlock.FindAllStringSubmatch(documentText(t, name), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no definition", name)
		}
		for _, b := range blocks {
			if _, err := definition.Parse([]byte(b[1])); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, b[1])
			}
		}
	}
}
