package history

import (
	"encoding/json"
	"testing"
)

// Cursors, and what planners answer, are read or refused.
func FuzzParse(f *testing.F) {
	f.Add([]byte("12-1.2-0"))
	f.Add([]byte("-1-1.2-0"))
	f.Add([]byte(`{"id":"w","run":"1.2","created_at":"2026-01-02T03:04:05Z","position":"1.4"}`))
	f.Add([]byte(`{"digest":"sha256:0","definition":{"name":"double","components":{"a":{"expr":"input * 2"}}},"states":{"a":"completed"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := ParseCursor(string(b)); err == nil {
			if again, err := ParseCursor(c.String()); err != nil || again != c {
				t.Errorf("%q is %+v, then %+v, %v", b, c, again, err)
			}
		}
		if run, asOf, err := ParseRun(b); err == nil && (run.Start.IsZero() || asOf.IsZero()) {
			t.Errorf("%q is the run %+v as of %v", b, run, asOf)
		}
		if g, err := ParseGraph(b); err == nil {
			g.Mermaid()
			if out, err := g.JSON(); err != nil || !json.Valid(out) {
				t.Errorf("%q is drawn as %q, %v", b, out, err)
			}
		}
	})
}
