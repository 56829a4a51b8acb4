package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

var settings = []setting{
	{name: "plain"},
	{name: "one at a time", concurrency: 1},
	{name: "two at a time, shuffled", concurrency: 2, seed: 11},
	{name: "shuffled", seed: 5},
	{name: "restarted after every record", restart: true, seed: 3},
	{name: "every outcome twice", duplicate: true, concurrency: 8},
	{name: "async", async: true, seed: 9},
	{name: "in the smallest pieces", budget: machine.Budget{Events: 1, Bytes: 1}},
	{name: "in pieces, restarted after each, shuffled", budget: machine.Budget{Events: 5}, restart: true, duplicate: true, seed: 4},
}

// TestScripts runs testdata/*.txt under every setting that must not matter. The
// commands of a script, one a line, share one output:
//
//	define NAME          the lines below, up to an empty one, are a definition in YAML
//	start ID NAME INPUT  the rest of the line is the input; {"x": …} after | adds fields
//	input ID VALUE       likewise
//	NAME ID BODY         any other command
//	run                  delivers outcomes until nothing is active
//	step N               delivers N outcomes
//	again                delivers the last outcome once more
//	rebuild              folds the journal into an empty state, which must be the same
//	advance DURATION-MS  moves the clock; what comes due happens
//	show ID              status, productions, results, counts that matter; the
//	                     runnables that are listed are those that are counted
//	notices ID           the notices of its drains, and to whom else they went
//	explain ID           why the workflow is where it is
//	refusal              what the last command was refused with
//	runnables ID STATUS  the runnables of a status, or of all
//	keys ID COMPONENT    the idempotency keys of its calls
//	key NAME             who holds the permits of a key, and who waits
//	rate NAME            what a rate has granted, and who waits
//	breaker NAME         the state of a breaker, whose attempts it knows, and who waits
//	attempts ID          what became of each attempt
//	notified, detached   a worker says that it has the open attempt of ID COMPONENT, or has handed it on
//	lose ID COMPONENT    the worker of its open attempt vanishes
//	beat ID COMPONENT D  its open attempt gives a heartbeat with the details D, or its worker without any
//	begin ID COMPONENT   the worker of its open attempt says that it has begun
//	work ID COMPONENT    which attempt has begun what its open one goes on with
//	cancels              what workers were told to cancel, as attempt/attempt that has begun the work
//	arrive ID COMPONENT  what lost workers made of its attempts comes after all
//
// Files in testdata/plain run under the first setting only: they show what
// settings may change.
func TestScripts(t *testing.T) {
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			datadriven.Walk(t, "testdata/any", func(t *testing.T, path string) { runScript(t, path, s) })
		})
	}
}

// TestPlainScripts runs the scripts whose output a setting may change.
func TestPlainScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/plain", func(t *testing.T, path string) { runScript(t, path, setting{name: "plain"}) })
}

func runScript(t *testing.T, path string, s setting) {
	var w *world
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "world": // a new one; the rest of the line is a title
			w = newWorld(t, s)
			w.telling = true
			return ""
		case "define":
			return w.define(d.CmdArgs[0].Key, d.Input)
		case "do":
			w.t = t
			var out bytes.Buffer
			for _, line := range strings.Split(d.Input, "\n") {
				w.line(&out, line)
			}
			return out.String()
		}
		d.Fatalf(t, "unknown directive %s", d.Cmd)
		return ""
	})
}

func (w *world) define(name, yaml string) string {
	c, err := w.p.compile([]byte(yaml))
	if err != nil {
		return err.Error() + "\n"
	}
	w.defs[name] = string(c.canonical)
	return ""
}

// line runs one line of a script.
func (w *world) line(out *bytes.Buffer, line string) {
	w.t.Helper()
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch word {
	case "":
	case "run":
		w.run()
	case "step":
		n, err := strconv.Atoi(rest)
		w.must(err)
		for range n {
			w.step()
		}
	case "advance":
		ms, err := strconv.ParseInt(rest, 10, 64)
		w.must(err)
		w.advance(ms)
		w.run()
	case "start":
		id, rest, _ := strings.Cut(rest, " ")
		name, value, _ := strings.Cut(rest, " ")
		w.say(out, "start", w.command(id, "start", w.startBody(name, value)))
	case "input":
		id, value, _ := strings.Cut(rest, " ")
		w.say(out, "input", w.command(id, "input", withFields("input", value)))
	case "show":
		w.show(out, rest)
	case "runnables":
		id, status, _ := strings.Cut(rest, " ")
		for _, r := range w.listed(id, status, maxQueryItems) {
			fmt.Fprintf(out, "%s %s %s\n", r.ID, r.Component, r.Status)
		}
	case "refusal": // of the last command, in whole
		r := w.replies[len(w.replies)-1].Refusal
		fmt.Fprintln(out, strings.ReplaceAll(r.Message, "; ", "\n  "))
	case "rebuild":
		w.restart()
	case "again": // the last outcome comes once more
		w.again()
	case "late": // the clock moves while nobody takes or reports
		ms, err := strconv.ParseInt(rest, 10, 64)
		w.must(err)
		w.idle = true
		w.advance(ms)
		w.idle = false
	case "drained":
		n := 0
		for _, r := range w.replies {
			if r.Kind == events.ReplyDrained {
				n++
			}
		}
		fmt.Fprintf(out, "told %d times\n", n)
	case "notices":
		w.showNotices(out, rest)
	case "ancestry":
		w.ancestry(out, rest)
	case "explain":
		w.explain(out, rest)
	case "peak":
		fmt.Fprintf(out, "peak %d\n", w.peak)
	case "history":
		w.history(out, rest)
	case "query":
		kind, id, _ := strings.Cut(rest, " ")
		fmt.Fprintf(out, "%s\n", w.query(kind, id, false))
	case "calls":
		id, component, _ := strings.Cut(rest, " ")
		fmt.Fprintf(out, "calls of %s: %d\n", component, w.calls[id+" "+component])
	case "keyed": // the idempotency keys of the runnables that are open
		for _, r := range w.openRunnables(rest) {
			if r.Key != "" {
				fmt.Fprintf(out, "%s %s %s\n", r.Component, r.Status, r.Key)
			}
		}
	case "keys": // the idempotency keys of a component's calls
		id, component, _ := strings.Cut(rest, " ")
		fmt.Fprintf(out, "keys of %s: %q\n", component, w.keysOf[id+" "+component])
	case "lose": // the worker of a component's open attempt vanishes
		id, component, _ := strings.Cut(rest, " ")
		w.lose(id, component)
	case "work": // which attempt has begun what its open one goes on with
		id, component, _ := strings.Cut(rest, " ")
		task := w.taskOf(id, component)
		fmt.Fprintf(out, "attempt %d of %s: work of %d\n", task.Attempt, component, w.beganBy(task.Token, task.Work))
	case "cancels":
		for _, c := range w.cancels {
			token, err := events.PeekToken(c.Token)
			w.must(err)
			fmt.Fprintf(out, "cancel %d/%d\n", token.Attempt, w.beganBy(c.Token, c.Work))
		}
	case "arrive": // what a lost worker has made comes after all
		id, component, _ := strings.Cut(rest, " ")
		w.arrive(id, component)
	case "beat": // a component's open attempt gives a heartbeat; without details, its worker does
		id, rest, _ := strings.Cut(rest, " ")
		component, details, _ := strings.Cut(rest, " ")
		w.beat(id, component, details)
	case "begin": // the worker of a component's open attempt says that it has begun
		id, component, _ := strings.Cut(rest, " ")
		w.hasBegun(id, component)
	case "key":
		w.showKey(out, events.ConcurrencyKey, rest)
	case "rate":
		w.showKey(out, events.RateKey, rest)
	case "breaker":
		w.showKey(out, events.BreakerKey, rest)
	case "attempts":
		w.attempts(out, rest)
	case "deliveries":
		w.deliveries(out, rest)
	case "notified", "detached":
		id, component, _ := strings.Cut(rest, " ")
		w.notified(id, component, word == "detached")
	case "complete-external", "fail-external", "heartbeat-external":
		w.external(out, word, rest)
	default:
		id, body, _ := strings.Cut(rest, " ")
		if body == "" {
			body = "{}"
		}
		w.say(out, word, w.command(id, word, body))
	}
}

// withFields makes a body of a value and, behind |, further fields.
func withFields(field, value string) string {
	value, more, _ := strings.Cut(value, " | ")
	fields := map[string]json.RawMessage{}
	if more != "" {
		if err := json.Unmarshal([]byte(more), &fields); err != nil {
			panic(err)
		}
	}
	if value != "" {
		fields[field] = json.RawMessage(value)
	}
	return string(mustJSON(fields))
}

func (w *world) startBody(name, value string) string {
	var body map[string]json.RawMessage
	w.must(json.Unmarshal([]byte(withFields("input", value)), &body))
	body["definition"] = mustJSON(name)
	options := map[string]any{}
	if raw := body["options"]; raw != nil {
		w.must(json.Unmarshal(raw, &options))
	}
	if _, given := options["max_concurrency"]; !given && w.set.concurrency > 0 {
		options["max_concurrency"] = w.set.concurrency
	}
	body["options"] = mustJSON(options)
	if w.set.async && body["policies"] == nil && !strings.Contains(w.defs[name], "external") {
		body["policies"] = json.RawMessage(`[{"match":{"kind":"step"},"execution_mode":"async","inherit":true}]`)
	}
	return string(mustJSON(body))
}

func (w *world) say(out *bytes.Buffer, what string, r events.Reply) {
	switch r.Result {
	case events.ResultRefused:
		fmt.Fprintf(out, "%s refused: %s", what, r.Refusal.Code)
		if r.Refusal.Path != "" {
			fmt.Fprintf(out, " at %s", r.Refusal.Path)
		}
		fmt.Fprintln(out)
	case events.ResultNoChange:
		fmt.Fprintf(out, "%s: no change\n", what)
	}
}

// show prints what does not depend on order.
func (w *world) show(out *bytes.Buffer, id string) {
	w.t.Helper()
	s := w.status(id)
	if s.ID != "" {
		w.conserved(id)
	}
	fmt.Fprintf(out, "%s", s.Status)
	if s.Failure != nil {
		fmt.Fprintf(out, " (%s: %s)", s.Failure.Component, s.Failure.Error.Type)
	}
	c := s.Counts
	for _, n := range []struct {
		name string
		n    uint64
	}{{"ready", c.Ready}, {"waiting", c.Waiting}, {"active", c.Active}, {"failed", c.Failed}, {"skipped", c.Skipped}, {"suppressed", c.Suppressed}, {"cancelled", c.Cancelled}, {"uncertain", c.Uncertain}} {
		if n.n > 0 {
			fmt.Fprintf(out, " %s=%d", n.name, n.n)
		}
	}
	if e := s.ConditionErrors; e != nil {
		fmt.Fprintf(out, " condition_errors=%d", e.Count)
		for _, f := range e.First {
			fmt.Fprintf(out, " %s:%s:%s", f.Component, f.Runnable, f.Error.Type)
		}
	}
	if r := s.Refusals; r != nil {
		fmt.Fprintf(out, " refusals=%d %s:%s", r.Count, r.Last.Command, r.Last.Code)
	}
	if k := s.Signals; k != nil {
		fmt.Fprintf(out, " signals=%d", k.Count)
		for _, f := range k.First {
			fmt.Fprintf(out, " %s:%s", f.Name, f.Key)
		}
	}
	fmt.Fprintln(out)
	var p struct {
		Productions map[string][]json.RawMessage `json:"productions"`
	}
	w.must(json.Unmarshal(w.query("productions", id, false), &p))
	var names []string
	for name := range p.Productions {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		values := p.Productions[name]
		slices.SortFunc(values, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
		fmt.Fprintf(out, "  %s %s\n", name, bytes.Join(rawBytes(values), []byte(" ")))
	}
}

func rawBytes(list []json.RawMessage) [][]byte {
	all := make([][]byte, len(list))
	for i, v := range list {
		all[i] = v
	}
	return all
}

// openRunnables are the runnables of a workflow as the query shows them; none
// when there is no such workflow.
func (w *world) openRunnables(id string) []runnableView {
	var list struct {
		Items []runnableView `json:"items"`
	}
	w.must(json.Unmarshal(w.query("runnables", id, false), &list))
	return list.Items
}

// external ends an attempt by its token as the API does.
func (w *world) external(out *bytes.Buffer, word, rest string) {
	id, rest, _ := strings.Cut(rest, " ")
	component, value, _ := strings.Cut(rest, " ")
	token := "tAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, r := range w.openRunnables(id) {
		if r.Component == component && r.Token != nil {
			token = *r.Token
		}
	}
	field := map[string]string{"complete": "result", "fail": "error", "heartbeat": "details"}
	command, _, _ := strings.Cut(word, "-")
	body := fmt.Sprintf(`{"token":%q}`, token)
	if value != "" {
		body = fmt.Sprintf(`{"token":%q,%q:%s}`, token, field[command], value)
	}
	w.say(out, command, w.command(id, command, body))
}
