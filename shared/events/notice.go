package events

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/wire"
)

// NoticePrefix begins the ids of entities that call an HTTP receiver for a run of a
// workflow: notice:RUN:WORKFLOW.
const NoticePrefix = "notice:"

// NoticesOf is the id of the entity that calls the receiver of a run.
func NoticesOf(workflow string, run RunID) string {
	return NoticePrefix + run.String() + ":" + workflow
}

// ParseNotices is the inverse of NoticesOf.
func ParseNotices(id string) (workflow string, run RunID, err error) {
	rest, ok := strings.CutPrefix(id, NoticePrefix)
	text, workflow, is := strings.Cut(rest, ":")
	if !ok || !is || workflow == "" {
		return "", RunID{}, fmt.Errorf("%q is not of the form %sRUN:WORKFLOW", id, NoticePrefix)
	}
	run, err = ParsePosition(text)
	return workflow, run, err
}

// WorkflowDrained says that a workflow with the option on_complete has come to rest: a
// notice of it goes out.
type WorkflowDrained struct {
	Drain uint64 // its number in the run, from 1
}

func (*WorkflowDrained) number() int { return 92 }

// Fields implements wire.Message.
func (e *WorkflowDrained) Fields(c *wire.Codec) { wire.Int(c, 1, "drain", &e.Drain) }

// NoticeReported is what a workflow has learnt of the calls to its receiver.
type NoticeReported struct{ Report NoticeReport }

func (*NoticeReported) number() int { return 93 }

// Fields implements wire.Message.
func (e *NoticeReported) Fields(c *wire.Codec) { wire.Nested(c, 1, "report", &e.Report) }

// NoticeAccepted is a notice that is to be delivered.
type NoticeAccepted struct{ Notice Notice }

func (*NoticeAccepted) number() int { return 94 }

// Fields implements wire.Message.
func (e *NoticeAccepted) Fields(c *wire.Codec) { wire.Nested(c, 1, "notice", &e.Notice) }

// NoticesOver ends the wait for notices that have not come, or the entity as a whole.
type NoticesOver struct {
	Through uint64 // none up to this one is waited for any more
	Gone    bool   // nothing is left to deliver: its rows are removed
}

func (*NoticesOver) number() int { return 95 }

// Fields implements wire.Message.
func (e *NoticesOver) Fields(c *wire.Codec) {
	wire.Int(c, 1, "through", &e.Through)
	c.Bool(2, "gone", &e.Gone)
}

// Notice is what a workflow tells the entity that calls its receiver: that it has drained
// for the Drain-th time, or, without a Drain, that it knows what is over.
type Notice struct {
	Drain     uint64
	Confirmed uint64 // the workflow knows that all up to this one are over
	Drains    uint64 // without a Drain: so many notices there have been
	ID        string // by which the receiver knows a repetition
	URL       string
	Body      json.RawMessage
	Trace     string
}

// Fields implements wire.Message.
func (n *Notice) Fields(c *wire.Codec) {
	wire.Int(c, 1, "drain", &n.Drain)
	wire.Int(c, 2, "confirmed", &n.Confirmed)
	wire.Int(c, 3, "drains", &n.Drains)
	wire.String(c, 4, "id", &n.ID)
	wire.String(c, 5, "url", &n.URL)
	c.JSON(6, "body", &n.Body)
	wire.String(c, 7, "trace", &n.Trace)
}

// NoticeReport is what that entity tells the workflow.
type NoticeReport struct {
	Run      RunID
	Over     uint64 // all notices up to this one are over
	Drain    uint64 // the one that the rest is about
	Attempts uint32
	GivenUp  bool
	Error    *TaskError // of its last attempt; nil: it was delivered
}

// Fields implements wire.Message.
func (r *NoticeReport) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "run", &r.Run)
	wire.Int(c, 2, "over", &r.Over)
	wire.Int(c, 3, "drain", &r.Drain)
	wire.Int(c, 4, "attempts", &r.Attempts)
	c.Bool(5, "given_up", &r.GivenUp)
	wire.Optional(c, 6, "error", &r.Error)
}

// DrainedType is the CloudEvents type of the notice that a workflow has drained.
const DrainedType = "heddle.workflow.drained.v1"

// ResultsURL is where the gateway has the results of a workflow.
func ResultsURL(workflow string) string { return "/v1/workflows/" + workflow + "/results" }
