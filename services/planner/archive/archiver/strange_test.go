package archiver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/request/requesttest"

	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
)

// trim deletes the journal below an offset.
func (r *rig) trim(offset int64) {
	r.t.Helper()
	below := kadm.Offsets{}
	below.Add(kadm.Offset{Topic: r.Topics.Journal(), Partition: 0, At: offset})
	deleted, err := kadm.NewClient(r.Admin(r.t)).DeleteRecords(r.ctx, below)
	r.must(err)
	r.must(deleted.Error())
}

// answers has a planner answer the queries about a workflow, by their kinds.
func (r *rig) answers(id string, answer func(kind string) (body, refusal string)) {
	requesttest.Start(r.t, r.Config, func(q requesttest.Request) []events.Reply {
		if q.Query == nil || q.Query.Workflow != id {
			return nil
		}
		reply := events.Reply{ID: q.Query.ReplyTo.ID, Kind: events.ReplyAnswer, Workflow: id, Result: events.ResultDone}
		body, refusal := answer(q.Query.Kind)
		reply.Body = []byte(body)
		if refusal != "" {
			reply.Result, reply.Body, reply.Refusal = events.ResultRefused, nil, &events.Refusal{Code: refusal, Message: "the test says so"}
		}
		return []events.Reply{reply}
	})
}

// summary is what a planner says of a run that has completed.
func summary(id string, run events.Position) string {
	return fmt.Sprintf(`{"id":%q,"run":%q,"status":"completed","definition":{"name":"d","version":"","digest":""},"partition":0,"position":"1.9"}`, id, run)
}

// Of a run whose beginning is in no journal any more there is what its planner says of it, and its last records.
func TestARunWithoutABeginningIsKeptAsItsPlannerKnowsIt(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	run := r.position(1)
	r.starts("b")
	r.starts("c")
	r.trim(2)
	r.answers("a", func(kind string) (body, refusal string) {
		if kind == "results" {
			return `{"status":"completed","results":{"done":2}}`, ""
		}
		return summary("a", run), ""
	})
	r.archiver(nil)
	r.ends("a")
	r.hears(1)
	if r.told[0].Run != run {
		t.Fatalf("the planner hears of %+v, want the run %s", r.told[0], run)
	}
	item, snap, recs := r.run("a")
	if !snap.Lacks || !snap.Whole || string(snap.Results) != `{"done":2}` || len(recs) != 1 || item.Labels[archive.LabelLacks] != "true" {
		t.Fatalf("the archive has %+v, %+v, %d records", item, snap, len(recs))
	}
}

// What its planner refuses to say of such a run is missing in the archive with the reason; the run is archived.
func TestWhatAPlannerRefusesToSayIsMissing(t *testing.T) {
	for what, c := range map[string]struct {
		whole  bool
		answer func(kind string, asked int) (refusal string)
	}{
		"its results": {true, func(kind string, _ int) string {
			return map[string]string{"results": "too_large"}[kind]
		}},
		"its results, and it is not there at first": {true, func(kind string, asked int) string {
			if asked <= 2 {
				return "unavailable"
			}
			return map[string]string{"results": "too_large"}[kind]
		}},
		"its summary": {false, func(_ string, asked int) string {
			if asked > 2 { // it has said which run it is
				return "internal_error"
			}
			return ""
		}},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.starts("a")
			run, asked := r.position(1), 0
			r.starts("b")
			r.trim(2)
			r.answers("a", func(kind string) (body, refusal string) {
				asked++
				if refusal = c.answer(kind, asked); refusal != "" {
					return "", refusal
				}
				return summary("a", run), ""
			})
			r.archiver(nil)
			r.ends("a")
			r.ends("b")
			r.hears(2)
			_, snap, _ := r.run("a")
			if !snap.Lacks || snap.Whole != c.whole || len(snap.Results) > 0 || !strings.HasSuffix(snap.Why, "the test says so") {
				t.Fatalf("the archive has %+v", snap)
			}
		})
	}
}

// A planner that does not say which run it is does not hold the others up.
func TestAPlannerThatDoesNotSayWhichRunItIsHoldsNothingUp(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	r.starts("b")
	r.trim(2)
	r.answers("a", func(string) (body, refusal string) { return "", "internal_error" })
	r.archiver(nil)
	r.ends("a")
	r.ends("b")
	r.hears(1)
	r.comes("all is committed", func() bool { return r.committed() == int64(len(r.list)) })
}
