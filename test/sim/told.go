package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// wrote takes a record that was written into the history.
func (w *world) wrote(rec *kgo.Record, p int32, offset int64) {
	w.history.wrote(rec, p, offset)
	w.audit.noteTime(rec, p, offset)
	w.noteLease(rec, p)
	w.noteReport(rec, p)
	w.notices.wrote(w.c.names, rec)
	w.pooling.wrote(rec, p)
	if w.history.keep {
		w.tellOf(rec, p, offset)
	}
}

// tellOf tells people of a record that was written, and what it says.
func (w *world) tellOf(rec *kgo.Record, p int32, offset int64) {
	names := w.c.names
	switch rec.Topic {
	case names.State(), names.Authority(), names.Status(): // parts of checkpoints, whose transactions are told of, and summaries
		return
	}
	about, says := w.workflow(string(rec.Key)), ""
	switch rec.Topic {
	case names.Journal():
		about, says = w.journalText(rec, p)
	case names.Commands():
		says = header(rec, events.HeaderType) + " " + header(rec, events.HeaderID)
	case names.Inbox():
		says = w.inboxText(rec.Value)
	case names.Replies():
		about, says = w.answerText(rec.Value)
		if about == (Subject{}) {
			about = w.workflow(strings.TrimPrefix(string(rec.Key), "user-"))
		}
	default:
		if _, ok := names.Queue(rec.Topic); ok {
			says = w.taskText(rec.Value)
		}
	}
	w.tell(about, "  %s/%d@%d %s: %s", rec.Topic, p, offset, rec.Key, says)
}

func header(rec *kgo.Record, name string) string {
	for _, h := range rec.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// journalText tells of a record of a journal: its epoch and number, and what it
// decides of which input.
func (w *world) journalText(in *kgo.Record, p int32) (Subject, string) {
	rec, err := journal.Decode(in)
	if err != nil {
		return ofPartition(p), err.Error()
	}
	about := ofPartition(p)
	if rec.Workflow != "" {
		about = w.workflow(rec.Workflow)
	}
	if about.Partition == "" {
		about.Partition = partitionName(p)
	}
	var what []string
	for _, e := range rec.Events {
		what = append(what, events.Name(e))
	}
	text := fmt.Sprintf("record %s decides %s@%d: %s", rec.Position, rec.Input.Source, rec.Input.Offset, strings.Join(what, ", "))
	if rec.Replaces > 0 {
		text += fmt.Sprintf(" (it replaces epoch %d)", rec.Replaces)
	}
	return about, text
}

func (w *world) inboxText(value []byte) string {
	m, err := events.DecodeInbox(value)
	if err != nil {
		return err.Error()
	}
	text := strings.TrimPrefix(fmt.Sprintf("%T", m), "*events.")
	switch m := m.(type) {
	case *events.TaskOutcome:
		text += fmt.Sprintf(" %v", m.Outcome)
	case *events.RunnerReport:
		hello := ""
		if m.Hello != nil {
			hello = fmt.Sprintf(", hello of %s (%s), which has %d commands", m.Hello.Key, m.Hello.Instance, m.Hello.Received)
		}
		return text + fmt.Sprintf(" of %s %d%s, runner %d: %v, received %d, stopping %t, silent %t, heard %t, closed %q", m.Executor, m.Number, hello, m.Session, eventTexts(m.Events), m.Received, m.Stopping, m.Silent, m.Heard, m.Closed)
	}
	return text + w.tokenText(m.AttemptToken())
}

// eventTexts are what a runner says of tasks.
func eventTexts(list []events.RunnerEvent) (all []string) {
	for _, e := range list {
		of, err := events.PeekToken(e.Token)
		all = append(all, fmt.Sprintf("#%d of %s, %s attempt %d: %d %v", e.Index, of.Workflow, of.Runnable, of.Attempt, e.State, err))
	}
	return all
}

func (w *world) taskText(value []byte) string {
	task := &events.Task{}
	if err := wire.Unmarshal(value, task); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("task of %s", task.Component) + w.tokenText(task.Token)
}

func (w *world) tokenText(sealed []byte) string {
	t, err := secret.Open(sealed)
	if err != nil {
		return ", " + err.Error()
	}
	return fmt.Sprintf(", %s attempt %d, decided by record %s", t.Runnable, t.Attempt, t.Decided)
}

// mostOfReply bounds what is told of a reply, in bytes.
const mostOfReply = 200

func (w *world) answerText(value []byte) (Subject, string) {
	var about Subject
	var r events.Reply
	if json.Unmarshal(value, &r) == nil && r.Workflow != "" {
		about = w.workflow(r.Workflow)
	}
	return about, string(value[:min(len(value), mostOfReply)])
}
