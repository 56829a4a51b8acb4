package lint

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// spells are the packages that may spell topic names: the one that parses
// topics.yaml, and this one.
var spells = []string{"internal/kafka/topics", "internal/lint"}

// spelledByUsers are files that hold names as users write them, with the reason.
var spelledByUsers = map[string]string{
	"services/executor/kafkaproduce_test.go": "a task's params that name a topic of the system, which is refused",
	"sdk/kafkaclient/example_status_test.go": "a program outside, which follows a topic with a client of its own",
}

func TestTopicNamesAreSpelledInOnePlace(t *testing.T) {
	full, bases := topicPatterns(t)
	for _, p := range packages(t) {
		if slices.ContainsFunc(spells, func(s string) bool { return below(p.path(), s) }) {
			continue
		}
		for _, f := range sources(t, p, true) {
			if spelledByUsers[f.name] != "" {
				continue
			}
			ast.Inspect(f.file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					if text := literal(n); full.MatchString(text) {
						t.Errorf("%s: %q spells a topic; use topics.Names", f.at(n), text)
					}
				case *ast.BinaryExpr:
					if n.Op == token.ADD && isPrefix(n.X) && bases.MatchString(literal(n.Y)) {
						t.Errorf("%s: a topic's name is put together; use topics.Names", f.at(n))
					}
				}
				return true
			})
		}
	}
}

// topicPatterns are what a literal looks like that holds a topic's whole name
// under the default prefix, and one that is a topic's base name.
func topicPatterns(t *testing.T) (full, bases *regexp.Regexp) {
	t.Helper()
	names, err := topics.NewNames("")
	if err != nil {
		t.Fatal(err)
	}
	whole := []string{
		names.Commands(), names.Inbox(), names.Journal(), names.State(), names.TaskControl(), names.Status(), names.Definitions(),
		names.Queries(), names.Replies(), names.RunnerCommands(), names.Tunnels(), names.Authority(), names.Readiness(), names.DLQ(),
	}
	alternatives := []string{strings.TrimPrefix(regexp.QuoteMeta(names.Tasks("")), regexp.QuoteMeta(names.Prefix())) + `[\w-]*`}
	for _, n := range whole {
		alternatives = append(alternatives, regexp.QuoteMeta(strings.TrimPrefix(n, names.Prefix())))
	}
	any := "(" + strings.Join(alternatives, "|") + ")"
	return regexp.MustCompile(`(^|[^A-Za-z0-9_])` + regexp.QuoteMeta(names.Prefix()) + any + `([^A-Za-z0-9_-]|$)`),
		regexp.MustCompile("^" + any + "$")
}

func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return lit.Value
	}
	return s
}

// isPrefix reports whether an expression is named after a prefix.
func isPrefix(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.Contains(strings.ToLower(e.Name), "prefix")
	case *ast.SelectorExpr:
		return isPrefix(e.Sel)
	case *ast.CallExpr:
		return isPrefix(e.Fun)
	}
	return false
}

func TestTheTopicPatternKnowsNames(t *testing.T) {
	full, _ := topicPatterns(t)
	for _, s := range []string{"heddle.commands", "heddle.journal ", "-t heddle.tasks.orders", "heddle.task-control"} {
		if !full.MatchString(s) {
			t.Errorf("%q is not seen", s)
		}
	}
	for _, s := range []string{"heddle.command.start.v1", "commands", "heddle.statuses", "io.heddle.x", "heddle.state_machine"} {
		if full.MatchString(s) {
			t.Errorf("%q is taken for a topic", s)
		}
	}
}
