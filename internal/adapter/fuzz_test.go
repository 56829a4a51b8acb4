package adapter

import (
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/shared/events"
)

// Whatever an attempt has told, it leads to no work but the one that the attempt is for, and to no ID that none has.
func FuzzNote(f *testing.F) {
	key := keyOf([]byte("a sealed token"))
	f.Add(`{"work":"`+key+`","ref":"id 7"}`, key)
	f.Add(`{"work":7}`, "")
	f.Add(`{"delivery":"pending"}`, key)
	f.Fuzz(func(t *testing.T, details, key string) {
		c := call{attempt: &worker.Attempt{Spec: events.Task{Heartbeat: json.RawMessage(details)}}, work: executor.Work{Key: key}}
		ref, ok := c.noted()
		if !ok && ref != (executor.Ref{}) || ok && (ref.Key != key || len(ref.ID) > executor.MaxID) {
			t.Errorf("%q leads to %+v, %t", details, ref, ok)
		}
	})
}
