package planner

import (
	"encoding/json"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// everyStatus is what a runnable can be listed as.
var everyStatus = []string{"ready", "waiting", "active", "completed", "failed", "skipped", "suppressed", "cancelled", "uncertain"}

// listed are the runnables of a status, or all, read in pages of so many.
func (w *world) listed(id, status string, limit uint32) []runnableView {
	w.t.Helper()
	var all []runnableView
	for cursor := ""; ; {
		r := w.p.Query(rows.Begin(&w.state), w.now, &events.Query{
			Kind: "runnables", Workflow: id, Filter: status, Limit: limit, Cursor: cursor,
		})
		if r.Refusal != nil {
			w.t.Fatalf("runnables of %s: %+v", id, r.Refusal)
		}
		var page struct {
			Items []runnableView `json:"items"`
			Next  string         `json:"next_cursor"`
		}
		w.must(json.Unmarshal(r.Body, &page))
		if len(page.Items) > int(limit) || page.Next != "" && len(page.Items) < int(limit) {
			w.t.Fatalf("a page of %d holds %d, next %q", limit, len(page.Items), page.Next)
		}
		all = append(all, page.Items...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

// conserved checks that every runnable that a workflow counts is listed once,
// under its status, however the list is cut into pages.
func (w *world) conserved(id string) {
	w.t.Helper()
	w.deliveredAll(id)
	c := w.status(id).Counts
	counted := map[string]uint64{
		"ready": c.Ready, "waiting": c.Waiting, "active": c.Active, "completed": c.Completed, "failed": c.Failed,
		"skipped": c.Skipped, "suppressed": c.Suppressed, "cancelled": c.Cancelled,
		"uncertain": c.Uncertain,
	}
	w.awaited(id)
	whole := w.listed(id, "", maxQueryItems)
	for _, status := range everyStatus {
		var want []string
		for _, r := range whole {
			if r.Status == status {
				want = append(want, r.ID)
			}
		}
		if uint64(len(want)) != counted[status] {
			w.t.Fatalf("%s counts %d %s and lists %v", id, counted[status], status, want)
		}
		if got := ids(w.listed(id, status, 2)); !slices.Equal(got, want) {
			w.t.Fatalf("%s lists as %s %v, among all %v", id, status, got, want)
		}
	}
	want := ids(whole)
	if got := ids(w.listed(id, "", 1)); !slices.Equal(got, want) {
		w.t.Fatalf("%s lists one by one %v, at once %v", id, got, want)
	}
	slices.Sort(want)
	if len(slices.Compact(want)) != len(whole) {
		w.t.Fatalf("%s lists an id twice: %v", id, want)
	}
}

// awaited checks that what waits is found by what it waits for and has its timer, and
// that nothing else is.
func (w *world) awaited(id string) {
	w.t.Helper()
	t := w.p.begin(rows.Begin(&w.state), events.Position{}, w.now, id)
	want := map[rows.Key]bool{}
	timer := func(k rows.Key) {
		if k.A != 0 {
			want[k] = true
		}
	}
	rows.Scan(t.tx, rows.Key{Table: rows.Runnable, Workflow: id}, func(k rows.Key, r *runnable) bool {
		n := events.RunnableID(k.A)
		timer(timerKey(id, r.Deadline, n, machine.TimerTimeout))
		timer(timerKey(id, r.limit().startDue(), n, machine.TimerStart))
		timer(timerKey(id, r.limit().Whole, n, machine.TimerWhole))
		timer(timerKey(id, r.limit().Silent, n, machine.TimerSilent))
		if timer(wakeKey(id, n, r)); r.Wait != nil {
			want[t.runs.awaitedKey(n, r)] = true
		}
		return true
	})
	kept := uint64(0)
	rows.Scan(t.tx, rows.Key{Table: rows.Signal, Workflow: id}, func(k rows.Key, s *keptSignal) bool {
		want[matchKey(id, 1, s.Name, s.Key, k.A)], want[expiryKey(id, k.A, s)] = true, true
		kept++
		return true
	})
	timer(t.endKey())
	for _, k := range w.state.Keys() {
		if k.Workflow != id || k.Table != rows.Timer && k.Table != rows.Match && k.Table != rows.Watch {
			continue
		}
		if !want[k] {
			w.t.Fatalf("%s has the row %v, which is of nothing", id, k)
		}
		delete(want, k)
	}
	if len(want) > 0 || t.head.signalled().Kept != kept {
		w.t.Fatalf("%s has %d signals, counts %+v, and lacks %v", id, kept, t.head.signalled(), want)
	}
}

func ids(list []runnableView) []string {
	var all []string
	for _, r := range list {
		all = append(all, r.ID)
	}
	return all
}
