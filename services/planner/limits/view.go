package limits

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// maxShown bounds the holders and the requests that a read of a key lists.
const maxShown = 100

// Query implements machine.Machine.
func (Machine) Query(tx *rows.Tx, now int64, q *events.Query) events.Reply {
	if q.Workflow == events.KeyPrefix {
		return list(tx, now, q)
	}
	t := begin(tx, events.Position{}, now, q.Workflow)
	r := events.Reply{ID: q.ReplyTo.ID, Kind: events.ReplyAnswer, Workflow: q.Workflow, Result: events.ResultDone}
	if t.kind == "" || t.head == nil {
		r.Result = events.ResultRefused
		r.Refusal = &events.Refusal{Code: "not_found", Message: absent(t.kind, t.name)}
		return r
	}
	v := events.KeyState{KeySummary: t.summary(), Holders: []events.KeyPermit{}, Queue: []events.KeyPermit{}}
	if !t.rate() {
		rows.Scan(tx, holderKey(t.id, 0), func(_ rows.Key, p *permit) bool {
			v.Holders = append(v.Holders, p.view())
			return len(v.Holders) < maxShown
		})
	}
	rows.Scan(tx, rows.Key{Table: rows.Ready, Workflow: t.id}, func(_ rows.Key, p *permit) bool {
		v.Queue = append(v.Queue, p.view())
		return len(v.Queue) < maxShown
	})
	var err error
	if r.Body, err = json.Marshal(v); err != nil {
		panic(err)
	}
	return r
}

// absent says what it means that a key has no rows.
func absent(kind, name string) string {
	switch kind {
	case events.BreakerKey:
		return fmt.Sprintf("the breaker %q is closed: nothing that it knows of has failed, and no attempt behind it is open", name)
	case events.RateKey:
		return fmt.Sprintf("nobody was granted a permit of the rate %q within its time, and nobody waits for one", name)
	}
	return fmt.Sprintf("nobody holds a permit of the key %q or waits for one", name)
}

// summary is how much of a key's limit is used, of a rate when it grants again, and of a breaker its state.
func (t *turn) summary() events.KeySummary {
	h := t.head
	v := events.KeySummary{Name: t.name, Kind: t.kind, Limit: h.Limit.Limit, Per: h.Limit.Per, Held: h.Held, Queued: h.Queued}
	switch {
	case t.rate():
		v.Held = t.recent()
		if next := t.free(1); next > t.now {
			v.Next = events.Stamp(next).String()
		}
	case t.breaks():
		h.Breaker.show(&v)
	}
	return v
}

func (p *permit) view() events.KeyPermit {
	return events.KeyPermit{Workflow: p.ID.Workflow, Runnable: p.ID.Runnable.String(), Since: events.Stamp(p.Since).String()}
}
