package sim

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// noteCancel notes that an owner cancels an attempt: workers do not begin it any more, and stop it where it would never end. Others that run it
// end it as they would have, so that outcomes come late.
func (w *world) noteCancel(rec *kgo.Record) {
	var c events.TaskCancel
	if rec.Topic != w.c.names.TaskControl() || wire.Unmarshal(rec.Value, &c) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancelled[string(c.Token)] = true
}

func (w *world) isCancelled(token []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cancelled[string(token)]
}

// unknownFor is how long somebody looks at a task that hangs before its worker is made to end it.
const unknownFor = time.Minute

// unknown reports whether a task hangs of which no owner may know, since the record that dispatched it may not count, or
// the word of its worker is lost with its log: nobody cancels it. The cluster's lock is held.
func (w *world) unknown(e *execution, now time.Time) bool {
	if now.Sub(e.began) < unknownFor {
		return false
	}
	lost := w.thinned[place{w.c.names.Inbox(), w.audit.partition(e.workflow)}]
	return lost || w.audit.inDoubt(e.workflow) || w.uncounted(e, now)
}

// uncounted reports whether the record that dispatched a task does not count: one of the mode async leaves with the append
// of its record. It looks now and then, as a later owner may make a record void.
func (w *world) uncounted(e *execution, now time.Time) bool {
	if e.void || now.Sub(e.looked) < unknownFor {
		return e.void
	}
	e.looked = now
	token, err := events.PeekToken(e.task.Token)
	if err != nil {
		return false
	}
	e.void = !slices.ContainsFunc(w.audit.lawful(w.audit.partition(e.workflow)), func(rec *events.Record) bool {
		return rec.Position == token.Decided
	})
	return e.void
}
