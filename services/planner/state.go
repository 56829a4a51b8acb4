package planner

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Status is where a workflow is in its life. Values are recorded.
type Status uint8

// The statuses of a workflow.
const (
	Running   Status = 1
	Idle      Status = 2
	Paused    Status = 3
	Failed    Status = 4
	Stopping  Status = 5 // stopped for every command; attempts drain
	Stopped   Status = 6
	Completed Status = 7
	Cancelled Status = 8

	Cancelling Status = 9  // more than one record's work
	Deleting   Status = 10 // likewise; for others the workflow is gone
)

func (s Status) String() string {
	return [...]string{"", "running", "idle", "paused", "failed", "stopping", "stopped", "completed", "cancelled", "cancelling", "deleting"}[s]
}

func (s Status) closed() bool { return s == Completed || s == Cancelled }

// winding reports whether the run is being cancelled or deleted: nothing else follows
// from anything any more.
func (s Status) winding() bool { return s == Cancelling || s == Deleting }

// RunnableStatus is where a runnable is in its life. Values are recorded.
type RunnableStatus uint8

// The statuses of a runnable that has a row of its own. A completed one lives
// on in the row of its fact.
const (
	runReady     RunnableStatus = 1
	runWaiting   RunnableStatus = 2 // for a timer, or for scopes of its own
	runActive    RunnableStatus = 3
	runFailed    RunnableStatus = 4 // halts the workflow until retried or skipped
	runSkipped   RunnableStatus = 5
	runCancelled RunnableStatus = 6
	runUncertain RunnableStatus = 7 // its attempt was lost: somebody has to say what became of it
)

func (s RunnableStatus) String() string {
	return [...]string{"", "ready", "waiting", "active", "failed", "skipped", "cancelled", "uncertain"}[s]
}

func (s RunnableStatus) open() bool { return s <= runActive || s == runUncertain }

// header is the part of a workflow that changes with every record.
type header struct {
	Run        events.RunID
	Applied    events.Position // of the last record that the workflow's rows hold
	Status     Status
	Persist    bool // beside Status: a header is copied for each record, and takes no byte more than it needs
	NextFact   uint64
	NextRun    uint64
	Updated    int64  // Unix ms
	Slots      uint64 // active attempts that count for max_concurrency
	Halted     uint64 // failed runnables that halt the workflow
	Until      int64  // Unix ms when its state ends by itself: the drain limit, or the end of retention; 0: never
	Outcomes   uint64 // that were applied
	Ready      uint64
	Waiting    uint64
	Active     uint64
	Completed  uint64
	Failed     uint64
	Skipped    uint64
	Suppressed uint64
	Cancelled  uint64
	Waiters    []waiter // to be told when the workflow drains
	Told       []waiter // told by the record Applied
	Failure    *failure
	Scopes     []openScope // by id
	Latest     []latest    // of outputs, if they are few
	Trouble    *trouble
	HandFirst  uint64 // number of the oldest work in hand
	HandNext   uint64 // of the next one
	Former     uint64 // open attempts that have a former context
	Signals    *signalCounts

	Asking uint64 // runnables that wait for a permit and have room of max_concurrency meanwhile

	Rest *rest // nil: nothing is known of an archive

	SettledFirst uint64 // number of the first input that has settled and is not forgotten
	SettledNext  uint64 // of the next one that settles
}

// Fields implements wire.Message.
func (h *header) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "run", &h.Run)
	wire.Nested(c, 2, "applied", &h.Applied)
	wire.Int(c, 3, "status", &h.Status)
	wire.Int(c, 4, "next_fact", &h.NextFact)
	wire.Int(c, 5, "next_runnable", &h.NextRun)
	wire.Int(c, 6, "updated", &h.Updated)
	wire.Int(c, 7, "slots", &h.Slots)
	wire.Int(c, 8, "halted", &h.Halted)
	wire.Int(c, 9, "drain_until", &h.Until)
	c.Bool(10, "persist", &h.Persist)
	wire.Int(c, 11, "outcomes", &h.Outcomes)
	wire.Int(c, 12, "ready", &h.Ready)
	wire.Int(c, 13, "waiting", &h.Waiting)
	wire.Int(c, 14, "active", &h.Active)
	wire.Int(c, 15, "completed", &h.Completed)
	wire.Int(c, 16, "failed", &h.Failed)
	wire.Int(c, 17, "skipped", &h.Skipped)
	wire.Int(c, 18, "suppressed", &h.Suppressed)
	wire.Int(c, 19, "cancelled", &h.Cancelled)
	wire.Repeated(c, 20, "waiters", &h.Waiters)
	wire.Repeated(c, 21, "told", &h.Told)
	wire.Optional(c, 22, "failure", &h.Failure)
	wire.Repeated(c, 23, "scopes", &h.Scopes)
	wire.Repeated(c, 24, "latest", &h.Latest)
	wire.Optional(c, 25, "trouble", &h.Trouble)
	wire.Int(c, 26, "hand_first", &h.HandFirst)
	wire.Int(c, 27, "hand_next", &h.HandNext)
	wire.Int(c, 28, "former", &h.Former)
	wire.Int(c, 32, "settled_first", &h.SettledFirst)
	wire.Int(c, 33, "settled_next", &h.SettledNext)
	wire.Optional(c, 34, "signals", &h.Signals)
	wire.Int(c, 39, "asking", &h.Asking)
	wire.Optional(c, 40, "rest", &h.Rest)
}

// Touch implements rows.Touched: a field of each cache line of the row, and what each record
// looks at behind it.
func (h *header) Touch() uint64 {
	sum := h.Run.Seq + h.Active + h.Cancelled + uint64(len(h.Told)) + h.HandNext
	if len(h.Scopes) > 0 {
		sum += h.Scopes[0].Open
	}
	return sum
}

// trouble is what went wrong in a run and did not stop it; most runs have none.
// It is replaced as a whole: headers are copied, and share it.
type trouble struct {
	BadConditions uint64              // that could not be evaluated
	FirstBad      []events.RunnableID // the first of them, whose rows say why
	Refused       uint64              // commands to the run
	LastRefusal   events.LastRefusal
	Quarantine    string // what is gone that may have concerned it; empty: nothing holds it for that
	Uncertain     uint64 // runnables that are
}

// Fields implements wire.Message.
func (r *trouble) Fields(c *wire.Codec) {
	wire.Int(c, 1, "bad_conditions", &r.BadConditions)
	wire.Ints(c, 2, "first_bad", &r.FirstBad)
	wire.Int(c, 3, "refused", &r.Refused)
	wire.Nested(c, 4, "last_refusal", &r.LastRefusal)
	wire.String(c, 5, "quarantine", &r.Quarantine)
	wire.Int(c, 6, "uncertain", &r.Uncertain)
}

// rest is what is known of the archive, of a workflow at rest; it is gone when the workflow leaves that. It is replaced as a
// whole: headers are copied, and share it.
type rest struct {
	Archived bool // nothing is lost when it is deleted
	Awaits   bool // it has been kept for long enough, and is deleted as soon as it is archived
}

// Fields implements wire.Message.
func (r *rest) Fields(c *wire.Codec) {
	c.Bool(1, "archived", &r.Archived)
	c.Bool(2, "awaits", &r.Awaits)
}

// archived reports whether nothing is lost when the workflow is deleted.
func (h *header) archived() bool { return h.Rest != nil && h.Rest.Archived }

// awaitsArchive reports whether the workflow is deleted as soon as it is archived.
func (h *header) awaitsArchive() bool { return h.Rest != nil && h.Rest.Awaits }

// uncertain is how many runnables are.
func (h *header) uncertain() uint64 {
	if h.Trouble == nil {
		return 0
	}
	return h.Trouble.Uncertain
}

// open is how many runnables may still come to something by themselves, or by what others say of them.
func (h *header) open() uint64 { return h.Ready + h.Waiting + h.Active + h.uncertain() }

// troubled is the trouble of a header that may be changed.
func (h *header) troubled() *trouble {
	var r trouble
	if h.Trouble != nil {
		r = *h.Trouble
	}
	h.Trouble = &r
	return &r
}

// waiter is a client that wants to know when the workflow has drained.
type waiter struct{ Address, ID string }

// Fields implements wire.Message.
func (w *waiter) Fields(c *wire.Codec) {
	wire.String(c, 1, "address", &w.Address)
	wire.String(c, 2, "id", &w.ID)
}

// failure is the first failure that halted the workflow.
type failure struct {
	Component uint32
	Runnable  events.RunnableID
	Error     events.TaskError
	Told      bool // a notice has gone out of it
}

// Fields implements wire.Message.
func (f *failure) Fields(c *wire.Codec) {
	wire.Int(c, 1, "component", &f.Component)
	wire.Int(c, 2, "runnable", &f.Runnable)
	wire.Nested(c, 3, "error", &f.Error)
	c.Bool(4, "told", &f.Told)
}

// setup is what was given with the workflow; it changes by command only.
type setup struct {
	Digest   string
	Name     string
	Version  string
	Options  json.RawMessage
	Policies json.RawMessage
	Context  json.RawMessage
	Labels   json.RawMessage
	Trace    string
	Created  int64    // Unix ms
	Contexts uint32   // former ones that attempts have needed, so far
	Notices  *notices // nil: it has not drained, or tells nobody

	Numbering *numbering    // of a run that was migrated; nil: as its definition says
	Own       []ownContext  // sorted by component
	Origin    *events.RunID // of a run that was restored: that which it was first, by which its calls are known
	Former    []string      // digests of the definitions that it has had before, which stay pinned for it
}

// Fields implements wire.Message.
func (s *setup) Fields(c *wire.Codec) {
	wire.String(c, 1, "digest", &s.Digest)
	wire.String(c, 2, "name", &s.Name)
	wire.String(c, 3, "version", &s.Version)
	c.JSON(4, "options", &s.Options)
	c.JSON(5, "policies", &s.Policies)
	c.JSON(6, "context", &s.Context)
	c.JSON(7, "labels", &s.Labels)
	wire.String(c, 8, "trace", &s.Trace)
	wire.Int(c, 9, "created", &s.Created)
	wire.Int(c, 10, "contexts", &s.Contexts)
	wire.Optional(c, 11, "numbering", &s.Numbering)
	c.Strings(12, "former", &s.Former)
	wire.Optional(c, 21, "notices", &s.Notices)
	wire.Repeated(c, 22, "own", &s.Own)
	wire.Optional(c, 23, "origin", &s.Origin)
}

// definitionRow keeps a pinned definition.
type definitionRow struct{ Canonical json.RawMessage }

// Fields implements wire.Message.
func (d *definitionRow) Fields(c *wire.Codec) { c.JSON(1, "canonical", &d.Canonical) }

// Touch implements rows.Touched.
func (s *setup) Touch() uint64 {
	return uint64(len(s.Digest)) + uint64(len(s.Policies)) + uint64(s.Created)
}

// pins counts the runs of the partition that need a pinned definition.
type pins struct{ Runs uint64 }

// Fields implements wire.Message.
func (p *pins) Fields(c *wire.Codec) { wire.Int(c, 1, "runs", &p.Runs) }

// present is a row whose key says everything.
type present struct{ Since int64 }

// Fields implements wire.Message.
func (p *present) Fields(c *wire.Codec) { wire.Int(c, 1, "since", &p.Since) }

func headerKey(wf string) rows.Key { return rows.Key{Table: rows.Header, Workflow: wf} }
func setupKey(wf string) rows.Key  { return rows.Key{Table: rows.Header, Workflow: wf, A: 1} }

func definitionKey(digest string) rows.Key {
	return rows.Key{Table: rows.Definition, Sub: digest}
}

func pinsKey(digest string) rows.Key {
	return rows.Key{Table: rows.Pin, Sub: digest}
}
