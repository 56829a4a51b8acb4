package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// docs/environment.md has each variable with its flag and what it is, and no other.
func TestEachVariableOfTheEnvironmentIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/environment.md")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := newParser(&cli{}, &settingsFile{}, streams{out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, row := range variableRows(parser.Model.Node) {
		rows[row] = true
		if !strings.Contains(string(text), row+"\n") {
			t.Errorf("docs/environment.md lacks the row\n%s", row)
		}
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `HEDDLE_") && !rows[strings.TrimSuffix(line, "\n")] {
			t.Errorf("docs/environment.md has a row of no flag:\n%s", line)
		}
	}
}

// variableRows are the rows of the page, one for each variable and meaning.
func variableRows(root *kong.Node) []string {
	var rows []string
	seen := map[string]bool{}
	for _, flag := range settingsOf(root) {
		row := fmt.Sprintf("| `%s` | `--%s` | %s |", flag.Envs[0], flag.Name, strings.ReplaceAll(strings.ReplaceAll(flag.Help, "$$", "$"), "|", `\|`))
		if !seen[row] {
			seen[row] = true
			rows = append(rows, row)
		}
	}
	return rows
}
