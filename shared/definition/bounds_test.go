package definition_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/policy"
)

// Sources that are as long as may be, and hostile in their own ways. What makes
// one slow or large is that something is done again for each of its parts, so
// the bytes that are allocated tell it without a clock.
func TestHostileSourcesAreCheap(t *testing.T) {
	long := strings.Repeat("k", 200<<10)
	items := strings.Repeat("1,", 99_999) + "1"
	members := strings.Repeat(`"a":1,`, 99_999) + `"z":0`
	for name, src := range map[string]string{
		"a long name above many values":        `{"name":"x","components":{"a":{"step":"s","params":{"` + long + `":[` + items + `]}}}}`,
		"a long name above many given twice":   `{"` + long + `":{` + members + `}}`,
		"a long component with many fields":    `{"name":"x","components":{"` + long + `":{` + numbered(50_000) + `}}}`,
		"many fields that nobody knows":        `{"name":"x","components":{},` + numbered(50_000) + `}`,
		"many rules with many fields":          `{"name":"x","components":{},"policies":[` + strings.Repeat(`{"a":1,"b":1,"c":1,"d":1},`, 999) + `{}]}`,
		"a number of many digits":              `{"name":` + strings.Repeat("9", 900<<10) + `}`,
		"YAML, a quoted text of many lines":    "a: \"" + strings.Repeat("\\\n", 250<<10) + `"`,
		"YAML, a quoted text of empty lines":   "a: \"" + strings.Repeat("x\n", 250<<10) + `"`,
		"YAML, anchors in a row":               "a: " + strings.Repeat("&a ", 160<<10),
		"YAML, bars in a row":                  "a: " + strings.Repeat("|", 500<<10),
		"YAML, quotes":                         "a: " + strings.Repeat("'", 500<<10),
		"YAML, comments":                       strings.Repeat("- #\n #\n", 60<<10),
		"YAML, a literal of many lines":        "a: |\n" + strings.Repeat(" x\n", 160<<10),
		"YAML, keys alone":                     strings.Repeat("a:\n", 150<<10),
		"YAML, explicit keys":                  strings.Repeat("?\n", 250<<10),
		"YAML, items":                          strings.Repeat("- a\n", 120<<10),
		"YAML, documents":                      strings.Repeat("---\n", 120<<10),
		"YAML, brackets":                       strings.Repeat("[", 500<<10),
		"YAML, an anchor that holds itself":    "a: &a [*a]",
		"YAML, aliases of a long list":         "a: &a [" + strings.Repeat("1,", 50<<10) + "1]\nb: [" + strings.Repeat("*a,", 50<<10) + "1]",
		"YAML, one key, given again and again": strings.Repeat("name: t\n", 60<<10),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := definition.Parse([]byte(src))
			runtime.ReadMemStats(&after)
			if err == nil && !strings.Contains(name, "many values") {
				t.Error("it is accepted")
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 {
				t.Errorf("%d bytes of source allocate %d", len(src), n)
			}
			if err != nil && len(err.Error()) > 2*policy.MaxErrors<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"f%d":1,`, i)
	}
	return b.String() + `"z":0`
}

// A schema may refer to itself, and says so when an input would take for ever.
func TestASchemaCannotBlowUp(t *testing.T) {
	twice := func(kind string) string { // level n applies level n+1 twice to the same value
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, kind, i, i+1, i+1)
		}
		return `{"$ref":"#/$defs/d0","$defs":{` + b.String() + `"d40":{"default":1}}}`
	}
	deep := strings.Repeat(`{"x":`, 60) + "1" + strings.Repeat("}", 60)
	for name, c := range map[string]struct{ schema, input string }{
		"allOf":      {twice(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`), "1"},
		"anyOf":      {twice(`"d%d":{"anyOf":[{"not":{"$ref":"#/$defs/d%d"}},{"$ref":"#/$defs/d%d"}]},`), "1"},
		"properties": {twice(`"d%d":{"properties":{"x":{"$ref":"#/$defs/d%d"}},"additionalProperties":{"$ref":"#/$defs/d%d"},"allOf":[{"properties":{"x":{"type":"object"}}}]},`), deep},
		"recursion":  {`{"$ref":"#/$defs/n","$defs":{"n":{"allOf":[{"properties":{"x":{"$ref":"#/$defs/n"}}},{"properties":{"x":{"$ref":"#/$defs/n"}}}]}}}`, deep},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := definition.Parse([]byte(`{"name":"t","components":{},"input":{"schema":` + c.schema + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			g, err := definition.Compile(d)
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.AcceptInput(json.RawMessage(c.input))
			if refused := err != nil && strings.Contains(err.Error(), "steps to check"); refused == (name == "properties") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Regular expressions of a definition are bounded together: compiled definitions
// are kept.
func TestRegularExpressionsOfADefinitionAreBounded(t *testing.T) {
	for n, ok := range map[int]bool{3: true, 100: false} {
		components := map[string]any{}
		for i := range n {
			components[fmt.Sprintf("c%d", i)] = map[string]any{"expr": "'a' matches '(a?){1000}'"}
		}
		src, err := json.Marshal(map[string]any{"name": "d", "components": components})
		if err != nil {
			t.Fatal(err)
		}
		_, err = definition.Parse(src)
		if refused := err != nil && strings.Count(err.Error(), "50000 instructions") == 1; refused == ok || ok != (err == nil) {
			t.Errorf("of %d: %v", n, err)
		}
	}
}
