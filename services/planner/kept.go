package planner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// What an attempt keeps by its token belongs to its runnable: the next attempt finds it, and it is gone when the runnable
// has ended.

// keptRow is a value that attempts of a runnable keep.
type keptRow struct{ Value json.RawMessage }

// Fields implements wire.Message.
func (k *keptRow) Fields(c *wire.Codec) { c.JSON(1, "value", &k.Value) }

func (k *keptRow) size() int { return len(k.Value) }

// keptCount is how much the attempts of a runnable keep. It is replaced as a whole: copies of the runnable share it.
type keptCount struct {
	Keys  uint64
	Bytes uint64 // of keys and values
}

// Fields implements wire.Message.
func (k *keptCount) Fields(c *wire.Codec) {
	wire.Int(c, 1, "keys", &k.Keys)
	wire.Int(c, 2, "bytes", &k.Bytes)
}

func keepingKey(wf string, id events.RunnableID, key string) rows.Key {
	return rows.Key{Table: rows.Kept, Workflow: wf, A: uint64(id), Sub: key}
}

// keep changes what the open attempt that a command names keeps.
func (en *ends) keep(b *events.KeepKeys) {
	if !en.known() {
		return
	}
	id, r := en.runs.named(b.Token)
	if r == nil || en.head.Status.winding() {
		en.refuse("attempt_closed", "no open attempt has this token")
		return
	}
	put, ok := en.intake.kept(b.Put)
	if !ok {
		return
	}
	e := &events.KeysKept{Runnable: id, Deleted: en.runs.keptAmong(id, b.Delete), Put: put}
	switch n := en.runs.keeps(r, e); {
	case n.Keys > events.MaxKept && len(put) > 0:
		en.refuse("store_full", fmt.Sprintf("the attempts of the runnable would keep %d keys, the limit is %d", n.Keys, events.MaxKept))
	case n.Bytes > events.MaxKeptBytes && len(put) > 0:
		en.refuse("store_full", fmt.Sprintf("the attempts of the runnable would keep %d bytes, the limit is %d", n.Bytes, events.MaxKeptBytes))
	case len(e.Deleted)+len(put) == 0:
		en.ignore()
	default:
		en.emit(e)
	}
}

// kept takes values that are to be kept, the last one of each key, in the order of the keys.
func (it *intake) kept(all []events.KeptCandidate) ([]events.KeptValue, bool) {
	last := make(map[string]int, len(all))
	for i := range all {
		last[all[i].Key] = i
	}
	put := make([]events.KeptValue, 0, len(last))
	for i := range all {
		if last[all[i].Key] != i {
			continue
		}
		value, ok := it.compact(fmt.Sprintf("put[%d].value", i), all[i].Value)
		if !ok {
			return nil, false
		}
		put = append(put, events.KeptValue{Key: all[i].Key, Value: value})
	}
	slices.SortFunc(put, func(a, b events.KeptValue) int { return cmp.Compare(a.Key, b.Key) })
	return put, true
}

// keptAmong are the keys, each once and in their order, that a runnable keeps.
func (rs *runnables) keptAmong(id events.RunnableID, keys []string) (all []string) {
	for _, k := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		if rows.Get[keptRow](rs.tx, keepingKey(rs.id, id, k)) != nil {
			all = append(all, k)
		}
	}
	return all
}

// keeps is how much a runnable keeps behind an event.
func (rs *runnables) keeps(r *runnable, e *events.KeysKept) keptCount {
	var n keptCount
	if r.Kept != nil {
		n = *r.Kept
	}
	let := func(key string) {
		if row := rows.Get[keptRow](rs.tx, keepingKey(rs.id, e.Runnable, key)); row != nil {
			n.Keys--
			n.Bytes -= uint64(len(key) + len(row.Value))
		}
	}
	for _, k := range e.Deleted {
		let(k)
	}
	for i := range e.Put {
		v := &e.Put[i]
		if !slices.Contains(e.Deleted, v.Key) {
			let(v.Key)
		}
		n.Keys++
		n.Bytes += uint64(len(v.Key) + len(v.Value))
	}
	return n
}

// kept changes what a runnable keeps.
func (rs *runnables) kept(e *events.KeysKept) {
	r := rs.change(e.Runnable)
	n := rs.keeps(r, e)
	for _, k := range e.Deleted {
		rs.tx.Delete(keepingKey(rs.id, e.Runnable, k))
	}
	for i := range e.Put {
		rs.tx.Put(keepingKey(rs.id, e.Runnable, e.Put[i].Key), &keptRow{Value: e.Put[i].Value})
	}
	if r.Kept = &n; n.Keys == 0 {
		r.Kept = nil
	}
}

// keepNothing removes what a runnable keeps: it has ended, or begins with another input.
func (rs *runnables) keepNothing(id events.RunnableID, r *runnable) {
	if r.Kept == nil {
		return
	}
	r.Kept = nil
	var all []rows.Key
	rs.eachKept(id, func(k rows.Key, _ *keptRow) { all = append(all, k) })
	rs.deleteRows(all)
}

// eachKept visits what a runnable keeps, in the order of the keys. There are MaxKept at most.
func (rs *runnables) eachKept(id events.RunnableID, visit func(rows.Key, *keptRow)) {
	rows.Scan(rs.tx, keepingKey(rs.id, id, ""), func(k rows.Key, row *keptRow) bool {
		if k.A != uint64(id) {
			return false
		}
		visit(k, row)
		return true
	})
}

// kept answers an attempt that is open.
func (vw *view) kept(q *events.Query) (any, *events.Refusal) {
	id, r := vw.runs.named(q.Token)
	if r == nil || vw.head.Status.winding() {
		return nil, &events.Refusal{Code: "attempt_closed", Message: "no open attempt has this token"}
	}
	if len(q.Keys) > events.MaxKept {
		return nil, &events.Refusal{Code: "invalid_field", Path: "keys", Message: fmt.Sprintf("there are %d, the limit is %d", len(q.Keys), events.MaxKept)}
	}
	if len(q.Keys) > 0 {
		return vw.keptOf(id, q.Keys), nil
	}
	return vw.keptList(id, q), nil
}

// keptOf are the values of keys, each once.
func (vw *view) keptOf(id events.RunnableID, keys []string) events.KeptAnswer {
	a, seen := events.KeptAnswer{Entries: []events.KeptCandidate{}}, make(map[string]bool, len(keys))
	for _, k := range keys {
		if row := rows.Get[keptRow](vw.tx, keepingKey(vw.id, id, k)); row != nil && !seen[k] {
			seen[k] = true
			a.Entries = append(a.Entries, events.KeptCandidate{Key: k, Value: row.Value})
		}
	}
	return a
}

func (vw *view) keptList(id events.RunnableID, q *events.Query) events.KeptAnswer {
	a := events.KeptAnswer{Entries: []events.KeptCandidate{}}
	vw.runs.eachKept(id, func(k rows.Key, row *keptRow) {
		if strings.HasPrefix(k.Sub, q.Prefix) {
			a.Entries = append(a.Entries, events.KeptCandidate{Key: k.Sub, Value: row.Value})
		}
	})
	if q.Reverse {
		slices.Reverse(a.Entries)
	}
	if q.Limit > 0 && int(q.Limit) < len(a.Entries) {
		a.Entries = a.Entries[:q.Limit]
	}
	return a
}

// asKept is an answer with values as they are kept: with <, > and & written in another way they might not fit a record.
func asKept(a events.KeptAnswer) json.RawMessage {
	b, err := events.MarshalPlain(a)
	if err != nil {
		panic(err) // values that are no JSON: a defect of who took them in
	}
	return b
}
