package expr

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// documentation is docs/expressions.md.
func documentation(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	documentedInput = regexp.MustCompile("(?s)```json\n(.*?)\n```")
	documentedRow   = regexp.MustCompile("(?m)^\\| (.+?) \\| .+? \\| `(.+?)` \\| `(.+?)` \\|$")
)

// Each example of docs/expressions.md gives what is said there.
func TestDocumentedExpressionsGiveWhatIsSaid(t *testing.T) {
	text := documentation(t)
	input := documentedInput.FindStringSubmatch(text)
	if input == nil {
		t.Fatal("the document has no input")
	}
	rows := documentedRow.FindAllStringSubmatch(text, -1)
	if len(rows) < 100 {
		t.Fatalf("only %d examples were found", len(rows))
	}
	for _, row := range rows {
		source, want := strings.ReplaceAll(row[2], `\|`, "|"), row[3]
		p, err := Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got, err := p.Eval(Env{Input: json.RawMessage(input[1]), Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
		if err != nil || string(got) != want {
			t.Errorf("%s gives %s, %v; the document says %s", source, got, err, want)
		}
	}
}

// Each function and method has a row in docs/expressions.md.
func TestEachFunctionIsDocumented(t *testing.T) {
	told := map[string]bool{}
	for _, row := range documentedRow.FindAllStringSubmatch(documentation(t), -1) {
		told[strings.Trim(row[1], "`")] = true
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(functions)), slices.Sorted(maps.Keys(predicates)), slices.Sorted(maps.Keys(methods))) {
		if !told[name] {
			t.Errorf("docs/expressions.md has no row for %s", name)
		}
	}
}
