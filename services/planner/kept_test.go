package planner

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// keeps has a step whose attempts the test ends by their tokens, and one beside it.
const keeps = `{"name":"d","components":{
	"a":{"step":"f.person","policy":{"execution_mode":"external","max_retries":2,"base_delay":"1ms"}},
	"b":{"step":"f.person","policy":{"execution_mode":"external","on_failure":"skip","max_retries":0}}}}`

func keepingWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, setting{duplicate: true, restart: true})
	w.defs["d"] = keeps
	if r := w.startsWith("1"); r.Result != events.ResultDone {
		t.Fatalf("the start: %+v", r.Refusal)
	}
	return w
}

// keeps is what becomes of the command of an attempt: done, no change, or the code of its refusal.
func (w *world) keeps(component, change string) string {
	w.t.Helper()
	return w.keepsBy(w.token(component), change)
}

func (w *world) keepsBy(token, change string) string {
	w.t.Helper()
	return cell(w.command("w", "keep", fmt.Sprintf(`{"token":%q,%s}`, token, change)))
}

// kept is what an attempt reads: its entries, or the code of its refusal.
func (w *world) kept(q events.Query) string {
	w.t.Helper()
	q.Kind, q.Workflow = events.KeptQuery, "w"
	r := w.p.Query(rows.Begin(&w.state), w.now, &q)
	if r.Refusal != nil {
		return r.Refusal.Code
	}
	var a events.KeptAnswer
	w.must(json.Unmarshal(r.Body, &a))
	var all []string
	for _, e := range a.Entries {
		all = append(all, e.Key+"="+string(e.Value))
	}
	return strings.Join(all, " ")
}

func (w *world) keptBy(component string) string {
	w.t.Helper()
	return w.kept(events.Query{Token: w.token(component)})
}

// ending ends the attempt of a component.
func (w *world) ending(component, command, rest string) {
	w.t.Helper()
	if got := cell(w.command("w", command, fmt.Sprintf(`{"token":%q,%s}`, w.token(component), rest))); got != "done" {
		w.t.Fatalf("%s of %s: %s", command, component, got)
	}
}

// rowsOf is how many rows of a table there are.
func (w *world) rowsOf(table rows.Table) (n int) {
	for _, k := range w.state.Keys() {
		if k.Table == table {
			n++
		}
	}
	return n
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestAnAttemptReadsWhatItKeeps(t *testing.T) {
	w := keepingWorld(t)
	equal(t, "at first", w.keptBy("a"), "")
	equal(t, "put", w.keeps("a", `"put":[{"key":"b","value":{"n": 1}},{"key":"a","value":null},{"key":"c","value":2}]`), "done")
	equal(t, "all", w.keptBy("a"), `a=null b={"n":1} c=2`)
	equal(t, "of another runnable", w.keptBy("b"), "")
	for _, test := range []struct {
		q    events.Query
		want string
	}{
		{events.Query{Keys: []string{"c", "x", "a", "c"}}, "c=2 a=null"},
		{events.Query{Prefix: "b"}, `b={"n":1}`},
		{events.Query{Reverse: true, Limit: 2}, `c=2 b={"n":1}`},
		{events.Query{Keys: make([]string, events.MaxKept+1)}, "invalid_field"},
	} {
		test.q.Token = w.token("a")
		equal(t, fmt.Sprintf("%+v", test.q), w.kept(test.q), test.want)
	}
	equal(t, "delete", w.keeps("a", `"delete":["x","b","b"]`), "done")
	equal(t, "delete again", w.keeps("a", `"delete":["b"]`), "no change")
	equal(t, "both, and twice", w.keeps("a", `"delete":["a","c"],"put":[{"key":"a","value":1},{"key":"a","value":3}]`), "done")
	equal(t, "then", w.keptBy("a"), "a=3")
	equal(t, "none", w.keeps("a", `"delete":["a"]`), "done")
	if n := w.rowsOf(rows.Kept); n != 0 || w.p.begin(rows.Begin(&w.state), events.Position{}, w.now, "w").runs.get(1).Kept != nil {
		t.Errorf("%d rows are left, or a count", n)
	}
}

func TestTheNextAttemptReadsWhatIsKept(t *testing.T) {
	w := keepingWorld(t)
	first := w.token("a")
	w.keeps("a", `"put":[{"key":"n","value":1}]`)
	w.ending("a", "fail", `"error":{"message":"no"}`)
	w.advance(100)
	equal(t, "the next attempt", w.keptBy("a"), "n=1")
	equal(t, "the one before puts", w.keepsBy(first, `"put":[{"key":"n","value":9}]`), "attempt_closed")
	equal(t, "the one before reads", w.kept(events.Query{Token: first}), "attempt_closed")
	equal(t, "no token", w.kept(events.Query{Token: "?"}), "attempt_closed")
	equal(t, "the next one puts", w.keeps("a", `"put":[{"key":"n","value":2}]`), "done")

	// A pause changes nothing, and a run that is stopped at its drain limit begins the attempt again.
	w.command("w", "pause", "{}")
	equal(t, "paused", w.keeps("a", `"put":[{"key":"m","value":1}]`), "done")
	w.command("w", "resume", "{}")
	w.command("w", "stop", `{"drain":"1s"}`)
	equal(t, "while it drains", w.keeps("a", `"put":[{"key":"m","value":2}]`), "done")
	w.command("w", "resume", "{}")
	equal(t, "resumed", w.keptBy("a"), "m=2 n=2")

	// It has failed for good, but for an operator.
	for range 2 {
		w.ending("a", "fail", `"error":{"message":"no"}`)
		w.advance(100)
	}
	if s := w.status("w").Status; s != "failed" || w.rowsOf(rows.Kept) != 2 {
		t.Fatalf("it is %s, and %d rows are kept", s, w.rowsOf(rows.Kept))
	}
	w.command("w", "retry", "{}")
	equal(t, "retried", w.keptBy("a"), "m=2 n=2")
	w.ending("a", "fail", `"error":{"message":"no","retryable":false}`)
	w.command("w", "retry", `{"runnable":"r1","input":7}`)
	equal(t, "with another input", w.keptBy("a"), "")
}

func TestWhatIsKeptIsGoneWithItsRunnable(t *testing.T) {
	for how, end := range map[string]func(w *world){
		"completed": func(w *world) { w.ending("b", "complete", `"result":1`) },
		"failed":    func(w *world) { w.ending("b", "fail", `"error":{"message":"no"}`) },
		"skipped":   func(w *world) { w.command("w", "skip", `{"runnable":"r2"}`) },
	} {
		w := keepingWorld(t)
		w.keeps("a", `"put":[{"key":"n","value":1}]`)
		w.keeps("b", `"put":[{"key":"n","value":2},{"key":"m","value":3}]`)
		end(w)
		equal(t, how+", the other one", w.keptBy("a"), "n=1")
		if n := w.rowsOf(rows.Kept); n != 1 {
			t.Errorf("%s: %d rows are there", how, n)
		}
	}
	for how, end := range map[string]func(w *world){
		"cancelled": func(w *world) { w.command("w", "cancel", "{}") },
		"deleted":   func(w *world) { w.command("w", "delete", `{"force":true}`) },
	} {
		w := keepingWorld(t)
		w.keeps("a", `"put":[{"key":"n","value":1}]`)
		end(w)
		if n := w.rowsOf(rows.Kept); n != 0 {
			t.Errorf("%s: %d rows are there", how, n)
		}
	}
}

func TestWhatIsKeptHasLimits(t *testing.T) {
	w := keepingWorld(t)
	var all []string
	for i := range events.MaxKept {
		all = append(all, fmt.Sprintf(`{"key":"k%03d","value":0}`, i))
	}
	equal(t, "as many keys as there may be", w.keeps("a", `"put":[`+strings.Join(all, ",")+`]`), "done")
	equal(t, "another one", w.keeps("a", `"put":[{"key":"x","value":1}]`), "store_full")
	equal(t, "the same again", w.keeps("a", `"put":[`+all[7]+`]`), "done")
	equal(t, "another one for one", w.keeps("a", `"delete":["k000"],"put":[{"key":"x","value":1}]`), "done")
	equal(t, "another one for none", w.keeps("a", `"delete":["k000"],"put":[{"key":"y","value":1}]`), "store_full")
	equal(t, "all or none", w.kept(events.Query{Token: w.token("a"), Keys: []string{"k000", "x", "y"}}), "x=1")

	large := func(key string, n int) string {
		return fmt.Sprintf(`{"key":%q,"value":"%s"}`, key, strings.Repeat("v", n-2))
	}
	const most = events.MaxKeptValue - 1 // with its key a quarter of what there is room for
	four := large("a", most) + "," + large("b", most) + "," + large("c", most) + "," + large("d", most)
	equal(t, "as many bytes as there may be", w.keeps("b", `"put":[`+four+`]`), "done")
	equal(t, "one more", w.keeps("b", `"put":[`+large("a", most+1)+`]`), "store_full")
	equal(t, "an empty one", w.keeps("b", `"put":[{"key":"e","value":0}]`), "store_full")
	equal(t, "fewer", w.keeps("b", `"delete":["a"],"put":[{"key":"e","value":0}]`), "done")
}

// What is kept comes along where a run goes to another deployment.
func TestWhatIsKeptIsRestored(t *testing.T) {
	w := keepingWorld(t)
	w.keeps("a", `"put":[{"key":"n","value":1}]`)
	m := w.moved("w")
	other := newWorld(t, setting{})
	other.defs["d"] = keeps
	other.restores("w", m)
	equal(t, "there", other.keptBy("a"), "n=1")
	other.ending("a", "complete", `"result":1`)
	if n := other.rowsOf(rows.Kept); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// A change that fits no record is refused as a whole.
func TestWhatFitsNoRecordIsNotKept(t *testing.T) {
	w := keepingWorld(t)
	w.limit = 16 << 10
	equal(t, "too much", w.keeps("a", `"put":[{"key":"n","value":"`+strings.Repeat("v", 20<<10)+`"}]`), "too_large")
	equal(t, "then", w.keptBy("a"), "")
}

// An answer is about as long as what is kept, whatever the values are: it must fit a record and a frame.
func TestValuesAreReadAsTheyAreKept(t *testing.T) {
	w := keepingWorld(t)
	page := `"` + strings.Repeat("<&>", 1000) + `"`
	equal(t, "putting", w.keeps("a", `"put":[{"key":"k","value":`+page+`}]`), "done")
	equal(t, "reading", w.keptBy("a"), "k="+page)
}
