package lint

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// documents are the repository's texts for people, by path in the repository.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md", "../../examples/*/*.md", "../../test/*/*.md", "../../bench/*/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			text, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(p, "../../")] = string(text)
		}
	}
	if len(all) == 0 {
		t.Fatal("no documents found")
	}
	return all
}

var (
	testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*)`")
	codePath = regexp.MustCompile("`((?:bench|cmd|docs|examples|internal|sdk|services|shared|test)/[A-Za-z0-9_./-]*[A-Za-z0-9_])/?`")
	link     = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
)

func TestDocumentsNameTestsThatExist(t *testing.T) {
	have := map[string]bool{}
	for _, p := range packages(t) {
		for _, f := range sources(t, p, true) {
			for _, d := range f.file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					have[fn.Name.Name] = true
				}
			}
		}
	}
	for path, text := range documents(t) {
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			if !have[m[1]] {
				t.Errorf("%s names %s, which does not exist", path, m[1])
			}
		}
	}
}

func TestDocumentsNamePlacesThatExist(t *testing.T) {
	for path, text := range documents(t) {
		for _, m := range codePath.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", path, m[1], err)
			}
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("../..", filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			}
		}
	}
}

// Every package has its line in docs/packages.md, and the page names no other.
func TestEveryPackageHasItsLine(t *testing.T) {
	text := documents(t)["docs/packages.md"]
	for _, p := range packages(t) {
		if p.path() != "" && !strings.Contains(text, "`"+p.path()+"`") {
			t.Errorf("docs/packages.md has no line for %s", p.path())
		}
	}
}

// ARCHITECTURE.md is read at one sitting: two screens, short lines.
func TestTheArchitectureFitsOnTwoScreens(t *testing.T) {
	lines := strings.Split(documents(t)["ARCHITECTURE.md"], "\n")
	if len(lines) > 100 {
		t.Errorf("ARCHITECTURE.md has %d lines, over 100", len(lines))
	}
	for i, l := range lines {
		if n := utf8.RuneCountInString(l); n > 130 {
			t.Errorf("ARCHITECTURE.md:%d has %d characters, over 130", i+1, n)
		}
	}
}

var law = regexp.MustCompile(`^\| \*\*([JECO][1-6])\*\* `)

// Every law of the partition log has its line in docs/protocol.md, with at least
// one test in the code, and is explained there.
func TestEveryLawHasATest(t *testing.T) {
	text := documents(t)["docs/protocol.md"]
	lines := map[string]string{}
	for line := range strings.Lines(text) {
		if m := law.FindStringSubmatch(line); m != nil {
			lines[m[1]] = line
		}
	}
	for _, l := range strings.Fields("J1 J2 J3 J4 J5 J6 E1 E2 E3 E5 E6 C1 C2 C3 C4 O1 O2 O3 O4 O5") {
		if !testName.MatchString(lines[l]) {
			t.Errorf("docs/protocol.md names no test of law %s", l)
		}
		if !strings.Contains(text, "\n### "+l+" ") {
			t.Errorf("docs/protocol.md does not explain law %s", l)
		}
	}
}
