package limits

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// mostListed bounds the keys of one answer, and with them what it may cost the partition.
const mostListed = 200

// list answers with the keys of the partition that have rows, by kind and name: those behind the
// cursor, the id of one, and of one kind where the filter names it.
func list(tx *rows.Tx, now int64, q *events.Query) events.Reply {
	most := mostListed
	if q.Limit > 0 {
		most = min(most, int(q.Limit))
	}
	prefix := events.KeyPrefix
	if q.Filter != "" {
		prefix = events.KeyOf(q.Filter, "")
	}
	v := machine.ListEntities(tx, prefix, q.Cursor, most, func(id string) events.KeySummary {
		t := begin(tx, events.Position{}, now, id)
		return t.summary()
	})
	r := events.Reply{ID: q.ReplyTo.ID, Kind: events.ReplyAnswer, Workflow: q.Workflow, Result: events.ResultDone}
	var err error
	if r.Body, err = json.Marshal(v); err != nil {
		panic(err)
	}
	return r
}
