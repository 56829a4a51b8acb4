package search_test

import (
	"os"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/search"
)

// docs/search.md has each condition in its table.
func TestEachConditionIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range search.Fields() {
		name := "`" + strings.Replace(f.Name, "*", "NAME", 1) + "`"
		found := false
		for line := range strings.Lines(string(text)) {
			found = found || strings.HasPrefix(line, "| `") && strings.Contains(strings.Split(line, " | ")[0], name)
		}
		if !found {
			t.Errorf("docs/search.md has no row for %s", name)
		}
	}
}
