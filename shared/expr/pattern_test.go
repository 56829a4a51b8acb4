package expr

import (
	"regexp/syntax"
	"strings"
	"testing"
)

// The size of a pattern is known before it is compiled: it is that of the program
// at least, and not much more.
func FuzzCompilePattern(f *testing.F) {
	for _, s := range []string{
		"", "a", "^[A-Z]{3}-[0-9]+$", "(a?){1000}", "(?i)straße|\\pL*", "((a{10}){10}){10}", "a{2,}", "[^x]{0}", "(?:)*", "(?m)^$\\b\\B(?s).", "x**", "a|b|ab|abc", "((",
		"(" + strings.Repeat("a?", 495) + "){1000}", strings.Repeat("(", 300) + "a" + strings.Repeat(")*", 300),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > MaxSource {
			return
		}
		p, err := CompilePattern(s)
		if err != nil {
			return
		}
		re, err := syntax.Parse(s, syntax.Perl)
		if err != nil {
			t.Fatalf("%q is compiled and not parsed: %v", s, err)
		}
		prog, err := syntax.Compile(re.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if p.Size > MaxPattern || p.Size+10 < len(prog.Inst) {
			t.Errorf("%q has %d instructions, taken for %d", s, len(prog.Inst), p.Size)
		}
	})
}
