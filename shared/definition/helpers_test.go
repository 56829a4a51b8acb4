package definition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
)

// graph parses and compiles a definition; its components may be given alone.
func graph(t *testing.T, src string) *definition.Graph {
	t.Helper()
	d, err := definition.Parse([]byte(src))
	if err != nil {
		t.Fatalf("parse %s: %v", src, err)
	}
	g, err := definition.Compile(d)
	if err != nil {
		t.Fatalf("compile %s: %v", src, err)
	}
	return g
}

// parts is a definition with these components, in YAML flow form.
func parts(components string) string { return "name: t\ncomponents: {" + components + "}\n" }

// refusal is a definition and what its refusal says.
type refusal struct {
	src  string
	path string // of one of the errors
	want string // in the message or fix of that error
}

func checkRefused(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		_, err := definition.Parse([]byte(c.src))
		var all definition.Errors
		if !errors.As(err, &all) {
			t.Errorf("%.300s\n\tgave %v, want Errors", c.src, err)
			continue
		}
		found := false
		for _, e := range all {
			found = found || e.Path == c.path && strings.Contains(e.Error(), c.want)
		}
		if !found {
			t.Errorf("%.300s\n\twas refused with\n%.1000s\n\twant %s: …%s…", c.src, err.Error(), c.path, c.want)
		}
	}
}
