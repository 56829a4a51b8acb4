package planner

import (
	"os"
	"strings"
	"testing"
)

// docs/commands.md has the table that TestEveryCommandInEveryState tests, and no other.
func TestTheTableOfCommandsIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	_, rest, _ := strings.Cut(string(text), "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		rows = append(rows, strings.ReplaceAll(strings.TrimSpace(line), "`", ""))
	}
	if len(rows) != len(table) {
		t.Fatalf("docs/commands.md has %d rows, want %d", len(rows), len(table))
	}
	for i, row := range table {
		name := row.command
		if strings.Contains(row.body, "force") {
			name += " with force"
		}
		want := "| " + name + " | " + strings.Join(row.cells[:], " | ") + " |"
		if rows[i] != want {
			t.Errorf("docs/commands.md says\n%s\nand it is so that\n%s", rows[i], want)
		}
	}
}
