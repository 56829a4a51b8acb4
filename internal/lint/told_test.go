package lint

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// told are the reasons and warnings of readiness, by what the code spells, with the test that shows each one appear
// with its cause and vanish with it. Those over Kafka are heard in test/integration: with these words there. The
// others are elsewhere because Kafka cannot be made to give cause to them within seconds.
var told = map[string]struct{ words, test string }{
	"blocked: ":                                           {"blocked: ", overKafka},
	"authority lease not acquired":                        {"authority lease not acquired", overKafka},
	"authority lease is stale: ":                          {"authority lease is stale", overKafka},
	"authority lease expired: ":                           {"authority lease expired", overKafka},
	"authority lease invalid: ":                           {"authority lease invalid", overKafka},
	"the owner is empty":                                  {test: "services/readiness TestReasonsAreExact"}, // no owner writes these three
	"leased_until is missing":                             {test: "services/readiness TestReasonsAreExact"},
	"leased_until %q is no RFC 3339 ":                     {test: "services/readiness TestReasonsAreExact"},
	"replay has %d pending events":                        {"pending events", overKafka},
	"partition %d: %s":                                    {"partition ", overKafka},
	"a record of %s has been unread ":                     {"has been unread since", overKafka},
	"an attempt has been pending in ":                     {"an attempt has been pending in queue", overKafka},
	"an attempt has been pending since":                   {test: "services/readiness TestWarningsDoNotBlock"},                          // records of older planners
	"an attempt has waited in pool ":                      {test: "services/readiness TestWarningsNameThePoolsWithoutAnEligibleRunner"}, // for a minute
	"no runner is connected":                              {test: "services/readiness TestWarningsNameThePoolsWithoutAnEligibleRunner"},
	"none of its %d connected runners":                    {test: "services/readiness TestWarningsNameThePoolsWithoutAnEligibleRunner"},
	"the last checkpoint is of ":                          {"the last checkpoint is of", overKafka},
	"partition %d of %s has no leader":                    {"has no leader", overKafka},
	"partition %d of %s has %d of %d ":                    {"replicas in sync", overKafka},
	"%d more partitions of topics are":                    {"more partitions of topics", overKafka},
	"the lag of %s has grown for %s, ":                    {"the lag of", overKafka},
	"%d records came to %s within the":                    {test: "services/readiness/readinessd TestTheClusterIsLookedAt"}, // for ten minutes
	"%d effects wait for %s":                              {"effects wait for ", overKafka},
	"%d effects wait for %d more logs":                    {test: "internal/partition/loop TestNotesOfWhatWaitsAreBounded"}, // of more logs than a test makes
	"input log %s: %s: %s; reading go":                    {"input log commands: ", overKafka},
	"the archive has come to lag more":                    {test: "services/readiness TestAnArchiveThatFallsBehindIsWarnedOf"},
	"the archiver (group %s) has %s u":                    {test: "internal/partition TestTheJournalKeepsWhatTheArchiverHasNot"},
	"the clock of broker %d is %s tho":                    {"the clock of broker ", overKafka},
	"the planner group's committed offsets are not those": {"the planner group's committed offsets", overKafka},
	"the planner group's committed offsets are not known": {test: "internal/partition TestARecoveryDoesNotWaitLongForAnAbsentCoordinator"},
}

const overKafka = "test/integration"

// tellers are the functions that spell reasons, warnings and notes, by package; none: all of the package.
var tellers = map[string][]string{
	"services/readiness":            nil,
	"services/readiness/readinessd": {"down"},
	"internal/partition":            {"archived", "inspectInputs", "outliers"},
	"internal/partition/loop":       {"Waiting"},
}

// noted is what the notes of a partition's record are made of.
var noted = []string{"p.Waiting", "r.host.clock.notes", "r.notes", "r.trim.notes"}

// Nothing that readiness can say is without a test of its cause, and what is in the table can be said.
func TestEachReasonAndWarningHasATest(t *testing.T) {
	unsaid := maps.Clone(told)
	for _, p := range packages(t) {
		of, is := tellers[p.path()]
		if !is {
			continue
		}
		for text, at := range spelled(t, p, of) {
			known := slices.DeleteFunc(slices.Collect(maps.Keys(told)), func(begin string) bool { return !strings.HasPrefix(text, begin) })
			if len(known) == 0 {
				t.Errorf("%s: readiness can say %q, and no test is named that shows it come and go with its cause", at, text)
			}
			for _, begin := range known {
				delete(unsaid, begin)
			}
		}
	}
	for begin := range unsaid {
		t.Errorf("%q is in the table, and nothing says it", begin)
	}
}

// The tests that the table names are there, and those over Kafka hear its words appear and vanish.
func TestReasonsAndWarningsAreHeard(t *testing.T) {
	heard := hearings(t)
	for begin, by := range told {
		if by.words != "" {
			for _, how := range []string{"appears", "vanishes"} {
				if !slices.ContainsFunc(heard[how], func(words string) bool { return strings.Contains(words, by.words) }) {
					t.Errorf("no test in %s hears that %q %s: %s", by.test, by.words, how, begin)
				}
			}
			continue
		}
		dir, name, _ := strings.Cut(by.test, " ")
		if !slices.ContainsFunc(parsed(t, dir), func(f *ast.File) bool { return f.Scope.Lookup(name) != nil }) {
			t.Errorf("there is no %s in %s, which is to show %q", name, dir, begin)
		}
	}
}

// A partition's record has no notes from elsewhere.
func TestNotesComeFromWhereTheyAreTested(t *testing.T) {
	found := false
	for _, f := range parsed(t, "internal/partition") {
		ast.Inspect(f, func(n ast.Node) bool {
			kv, is := n.(*ast.KeyValueExpr)
			if !is || !isNamed(kv.Key, "Notes") {
				return true
			}
			if call, is := kv.Value.(*ast.CallExpr); is {
				found = true
				var from []string
				for _, arg := range call.Args {
					from = append(from, strings.TrimSuffix(types.ExprString(arg), "()"))
				}
				if slices.Sort(from); !slices.Equal(from, noted) {
					t.Errorf("the notes of a record are %v, which this test does not know", from)
				}
			}
			return true
		})
	}
	if !found {
		t.Error("no notes are found")
	}
}

// spelled are the texts of several words that functions of a package tell, with their places. What they log or return as an
// error is another matter.
func spelled(t *testing.T, p *listed, of []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range sources(t, p, false) {
		for _, d := range f.file.Decls {
			fn, is := d.(*ast.FuncDecl)
			if is && len(of) > 0 && !slices.Contains(of, fn.Name.Name) {
				continue
			}
			if g, constants := d.(*ast.GenDecl); constants && (g.Tok != token.CONST || len(of) > 0 && !notes(g)) {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if call, is := n.(*ast.CallExpr); is && isUntold(call) {
					return false
				}
				if lit, is := n.(*ast.BasicLit); is && strings.Contains(literal(lit), " ") {
					all[literal(lit)] = f.at(lit)
				}
				return true
			})
		}
	}
	return all
}

// notes reports whether constants are what a note begins with.
func notes(g *ast.GenDecl) bool {
	return slices.ContainsFunc(g.Specs, func(s ast.Spec) bool {
		v, is := s.(*ast.ValueSpec)
		return is && strings.HasPrefix(v.Names[0].Name, "Cursor")
	})
}

// isUntold reports whether a call makes an error or a line of the log.
func isUntold(call *ast.CallExpr) bool {
	s, is := call.Fun.(*ast.SelectorExpr)
	return is && slices.Contains([]string{"Errorf", "New", "Debug", "Info", "Warn", "Error"}, s.Sel.Name)
}

// hearings are the words that tests over Kafka wait for, by how.
func hearings(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, f := range parsed(t, overKafka) {
		ast.Inspect(f, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			if s, is := call.Fun.(*ast.SelectorExpr); is {
				for _, arg := range call.Args {
					ast.Inspect(arg, func(n ast.Node) bool {
						if lit, is := n.(*ast.BasicLit); is {
							how := cmp.Or(map[string]string{"has": "appears"}[s.Sel.Name], s.Sel.Name) // shortly
							all[how] = append(all[how], literal(lit))
						}
						return true
					})
				}
			}
			return true
		})
	}
	return all
}

// parsed are the files of a directory, its tests among them, whatever their build tags.
func parsed(t *testing.T, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has %d files: %v", dir, len(paths), err)
	}
	var all []*ast.File
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func isNamed(e ast.Expr, name string) bool {
	id, is := e.(*ast.Ident)
	return is && id.Name == name
}
