package badinput

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// What is refused is told to the client that asks; where nobody does it lies in the dlq,
// with its reason and its bytes.
func TestARefusalThatNobodyHearsIsInTheDLQ(t *testing.T) {
	r := start(t)
	id := r.idOn(0)
	r.done(r.do(id, "start", `{"definition":{"name":"d","components":{"a":{"step":"echo"}}}}`))
	for _, c := range []struct{ workflow, name, body, code, path string }{
		{"nobody", "start", `{"definition":"no-such"}`, "unknown_definition", "definition"},
		{id, "start", `{"definition":"no-such"}`, "already_started", ""},
		{"nobody", "input", `{"input":1}`, "not_found", ""},
		{id, "skip", `{"runnable":"r9"}`, "nothing_to_skip", ""},
	} {
		k := r.produce(kafka.Keyed(r.names.Commands(), []byte(c.workflow), []byte(c.body), kafka.Header(events.HeaderType, []byte(events.CommandType(c.name)))))
		if l := r.letterOf(k); !strings.HasPrefix(l.Reason, c.code+": ") || l.Workflow != c.workflow || l.Path != c.path {
			t.Errorf("%s of %s: the letter is %+v", c.name, c.workflow, l)
		}
		r.refused(r.do(c.workflow, c.name, c.body), c.code, c.path)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.letters) != 4 {
		t.Errorf("there are %d letters: a refusal that was told is one", len(r.letters))
	}
}
