package planner

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/wire"
)

// notices is what a run with the option on_complete has told of its drains. It is replaced as
// a whole: setups are copied, and share it.
type notices struct {
	Drains    uint64               // so many, each with its notice
	Confirmed uint64               // the receiver's calls up to this one are over
	Trouble   *events.NoticeReport // of the newest call that failed; nil: it was delivered since
}

// Fields implements wire.Message.
func (n *notices) Fields(c *wire.Codec) {
	wire.Int(c, 1, "drains", &n.Drains)
	wire.Int(c, 2, "confirmed", &n.Confirmed)
	wire.Optional(c, 3, "trouble", &n.Trouble)
}

// notices are those of the run; the zero value if there are none.
func (w *workflow) notices() notices {
	if n := w.setup().Notices; n != nil {
		return *n
	}
	return notices{}
}

func (w *workflow) setNotices(n notices) {
	w.changeSetup().Notices = &n
}

// drain says that the run has come to rest with this record, where somebody is to be told.
func (t *turn) drain() {
	if t.head == nil || !t.head.drained() || !t.rests() || t.options().Completion == nil {
		return
	}
	t.emit(&events.WorkflowDrained{Drain: t.notices().Drains + 1})
}

// rests reports whether the drained run has come to rest with this record. What has failed
// does so when its last attempt has ended, and once: an input that is held changes nothing.
func (t *turn) rests() bool {
	if t.head.Status == Failed {
		return t.head.Failure != nil && !t.head.Failure.Told
	}
	_, rested := restsOrAsks(t.events)
	return rested
}

func (w *workflow) drained(e *events.WorkflowDrained) {
	n := w.notices()
	n.Drains = e.Drain
	w.setNotices(n)
	if h := w.h(); h.Status == Failed && h.Failure != nil {
		f := *h.Failure
		f.Told = true
		h.Failure = &f
	}
}

// told takes what another entity says: how the calls of this run's receiver go, or what a key grants.
func (t *turn) told(m *events.EntityMessage) {
	if strings.HasPrefix(m.From, events.KeyPrefix) {
		t.toldByKey(m)
		return
	}
	if strings.HasPrefix(m.From, events.PoolPrefix) {
		t.toldByPool(m)
		return
	}
	r := events.NoticeReport{}
	if t.head == nil || t.head.Status == Deleting || m.From != events.NoticesOf(t.id, t.head.Run) {
		return
	}
	if err := wire.Unmarshal(m.Body, &r); err == nil && r.Run == t.head.Run {
		t.emit(&events.NoticeReported{Report: r})
	}
}

func (w *workflow) reported(r *events.NoticeReport) {
	n := w.notices()
	n.Confirmed = max(n.Confirmed, min(r.Over, n.Drains))
	switch known := n.Trouble; {
	case known != nil && known.Drain > r.Drain: // an older report comes later
	case r.Error != nil:
		trouble := *r
		trouble.Error.Message = events.Cut(trouble.Error.Message, events.MaxSummaryText)
		n.Trouble = &trouble
	case known != nil && known.GivenUp && known.Drain == r.Drain: // likewise
	default:
		n.Trouble = nil
	}
	w.setNotices(n)
}

// notices tells of a drain: the status topic, and whom the option names.
func (fx *effects) notices(all []machine.Effect, e *events.WorkflowDrained) []machine.Effect {
	to := fx.options().Completion
	if fx.head == nil || to == nil {
		return all
	}
	id, n := fx.noticeID(e.Drain), fx.workflow.notices()
	body := fx.notice(id, e.Drain, to)
	all = append(all, machine.Effect{Kind: machine.NoticeEffect, Key: fx.id, Value: body})
	if to.Topic != "" {
		all = append(all, machine.Effect{Kind: machine.EmitEffect, Key: fx.id, Topic: to.Topic, Type: events.DrainedType, Value: body})
	}
	if to.URL == "" {
		return all
	}
	call := events.Notice{Drain: e.Drain, Confirmed: n.Confirmed, ID: id, URL: to.URL, Body: body, Trace: fx.setup().Trace}
	return append(all, fx.tell(&call))
}

// noticeID is equal for all that is ever sent of a drain, and of no other.
func (fx *effects) noticeID(drain uint64) string {
	return fmt.Sprintf("%s/%s/drain-%d", fx.id, fx.head.Run, drain)
}

// tell is a message to the entity that calls the run's receiver.
func (fx *effects) tell(n *events.Notice) machine.Effect {
	return machine.Effect{Kind: machine.MessageEffect, Key: events.NoticesOf(fx.id, fx.head.Run), Value: wire.Marshal(n)}
}

// confirm lets that entity go once it has nothing left, and nothing is on its way.
func (fx *effects) confirm(all []machine.Effect, list []events.Event) []machine.Effect {
	if _, is := list[0].(*events.NoticeReported); !is || fx.head == nil {
		return all
	}
	if n := fx.workflow.notices(); n.Confirmed == n.Drains {
		all = append(all, fx.tell(&events.Notice{Confirmed: n.Confirmed, Drains: n.Drains}))
	}
	return all
}

// noticeGone takes the notice of a run that is deleted from the status topic.
func (fx *effects) noticeGone(all []machine.Effect, e *events.WorkflowDeleted) []machine.Effect {
	if e.Drains == 0 {
		return all
	}
	return append(all, machine.Effect{Kind: machine.NoticeEffect, Key: fx.id})
}

// maxNoticeResults bounds, as JSON, the results that a notice brings along. It is a part of
// what fits a record of the inbox, on which the calls of a receiver rest.
const maxNoticeResults = 256 << 10

// maxNoticeFacts bounds the facts of a run that are looked at for a notice.
const maxNoticeFacts = 1000

// notice is what receivers get.
func (fx *effects) notice(id string, drain uint64, to *definition.Completion) []byte {
	s := fx.view.summary()
	if s.Failure != nil {
		s.Failure.Error.Details = nil // they may be large; the workflow has them
	}
	n := events.Completion{
		ID: id, Workflow: s.ID, Run: s.Run, Drain: drain, Status: s.Status, Definition: s.Definition, Labels: s.Labels,
		Counts: s.Counts, Failure: s.Failure, Args: to.Args, Time: events.Stamp(fx.now), Position: fx.at,
	}
	if n.Results = mustJSON(fx.outputs.results()); len(n.Results) > maxNoticeResults {
		n.Results = json.RawMessage("null")
	}
	if fx.head.NextFact <= maxNoticeFacts {
		n.All = mustJSON(fx.view.allResults())
	}
	if len(n.All) > maxNoticeResults {
		n.All = nil
	}
	if n.All == nil || string(n.Results) == "null" {
		n.ResultsURL = events.ResultsURL(fx.id)
	}
	return mustJSON(n)
}

// noticeTrouble is what a summary says of calls that fail; nil: none does.
func (vw *view) noticeTrouble() *events.NoticeTrouble {
	n := vw.setup().Notices
	if n == nil || n.Trouble == nil {
		return nil
	}
	state := "failing"
	if n.Trouble.GivenUp {
		state = "given_up"
	}
	return &events.NoticeTrouble{Drain: n.Trouble.Drain, State: state, Attempts: n.Trouble.Attempts, Error: *n.Trouble.Error}
}
