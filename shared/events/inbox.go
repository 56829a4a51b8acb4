package events

import (
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/wire"
)

// Outcome says how an attempt ended, as its worker saw it.
type Outcome uint8

// Outcomes of an attempt.
const (
	OutcomeCompleted   Outcome = 1
	OutcomeFailed      Outcome = 2
	OutcomeTimedOut    Outcome = 3
	OutcomeCancelled   Outcome = 4 // the worker obeyed a TaskCancel
	OutcomeUnknownTask Outcome = 5 // handed back: this worker does not know the task
	OutcomeAbandoned   Outcome = 6 // handed back before it began: drain, eviction
)

var outcomeNames = [...]string{"", "completed", "failed", "timed_out", "cancelled", "unknown_task", "abandoned"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// InboxMessage is what executors and other services report to planners, and what entities tell each other.
type InboxMessage interface {
	wire.Message
	// AttemptToken is the sealed token of the attempt that it is about; nil: it is
	// about none.
	AttemptToken() []byte
}

// TaskOutcome reports the end of an attempt.
type TaskOutcome struct {
	Token    []byte
	Outcome  Outcome
	Result   json.RawMessage // when completed
	Error    *TaskError      // when failed
	Started  int64           // Unix ms
	Finished int64           // Unix ms
	Executor string          // the worker that ran it
}

// OutcomeByAPI is the executor of an outcome that somebody gave by the attempt's token.
const OutcomeByAPI = "api"

// TaskNotified reports that a worker has an attempt that runs longer than the
// grace; heartbeats guard it from then on, unless it is Detached: then somebody
// completes it by its token.
type TaskNotified struct {
	Token    []byte
	Channel  string
	Executor string
	Detached bool
}

// TaskHeartbeat reports that a notified attempt still runs.
type TaskHeartbeat struct {
	Token   []byte
	Details json.RawMessage // only when the task gave new ones
}

// TaskWish reports what an attempt wants of its workflow.
type TaskWish struct {
	Token []byte
	Sets  bool  // the alarm
	Alarm int64 // Unix ms at which the runnable goes on that sleeps; 0: none is set
	Sleep bool  // to end, and go on with another attempt when the alarm comes
}

// RunArchived reports that a run is kept outside Kafka, with all of its records up to one.
type RunArchived struct {
	Run     RunID
	Through Position // of the last record that is kept
}

// AttemptToken implements InboxMessage.
func (m *TaskOutcome) AttemptToken() []byte { return m.Token }

// AttemptToken implements InboxMessage.
func (m *TaskNotified) AttemptToken() []byte { return m.Token }

// AttemptToken implements InboxMessage.
func (m *TaskHeartbeat) AttemptToken() []byte { return m.Token }

// AttemptToken implements InboxMessage.
func (m *TaskWish) AttemptToken() []byte { return m.Token }

// AttemptToken implements InboxMessage: it is about no attempt.
func (m *RunArchived) AttemptToken() []byte { return nil }

// Fields implements wire.Message.
func (m *TaskOutcome) Fields(c *wire.Codec) {
	c.Bytes(1, "token", &m.Token)
	wire.Int(c, 2, "outcome", &m.Outcome)
	c.JSON(3, "result", &m.Result)
	wire.Optional(c, 4, "error", &m.Error)
	wire.Int(c, 5, "started", &m.Started)
	wire.Int(c, 6, "finished", &m.Finished)
	wire.Name(c, 7, "executor", &m.Executor)
}

// Fields implements wire.Message.
func (m *TaskNotified) Fields(c *wire.Codec) {
	c.Bytes(1, "token", &m.Token)
	wire.Name(c, 2, "channel", &m.Channel)
	wire.Name(c, 3, "executor", &m.Executor)
	c.Bool(4, "detached", &m.Detached)
}

// Fields implements wire.Message.
func (m *TaskHeartbeat) Fields(c *wire.Codec) {
	c.Bytes(1, "token", &m.Token)
	c.JSON(2, "details", &m.Details)
}

// Fields implements wire.Message.
func (m *TaskWish) Fields(c *wire.Codec) {
	c.Bytes(1, "token", &m.Token)
	c.Bool(2, "sets", &m.Sets)
	wire.Int(c, 3, "alarm", &m.Alarm)
	c.Bool(4, "sleep", &m.Sleep)
}

// Fields implements wire.Message.
func (m *RunArchived) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "run", &m.Run)
	wire.Nested(c, 2, "through", &m.Through)
}

// Inbox is the value of a record on the inbox topic.
type Inbox struct{ Message InboxMessage }

// Fields implements wire.Message.
func (m *Inbox) Fields(c *wire.Codec) {
	wire.OneOf(c, &m.Message, inboxNumber, inboxName, newInbox, []int{1, 2, 3, 4, 5, 6, 7, 8})
}

func inboxNumber(m InboxMessage) int {
	switch m.(type) {
	case *TaskOutcome:
		return 1
	case *TaskNotified:
		return 2
	case *TaskHeartbeat:
		return 3
	case *EntityMessage:
		return 4
	case *RunArchived:
		return 5
	case *RunRestore:
		return 6
	case *RunnerReport:
		return 7
	case *TaskWish:
		return 8
	}
	panic(fmt.Sprintf("inbox message %T has no number", m))
}

func newInbox(n int) (InboxMessage, bool) {
	switch n {
	case 1:
		return &TaskOutcome{}, true
	case 2:
		return &TaskNotified{}, true
	case 3:
		return &TaskHeartbeat{}, true
	case 4:
		return &EntityMessage{}, true
	case 5:
		return &RunArchived{}, true
	case 6:
		return &RunRestore{}, true
	case 7:
		return &RunnerReport{}, true
	case 8:
		return &TaskWish{}, true
	}
	return nil, false
}

func inboxName(n int) string {
	return [...]string{"", "TaskOutcome", "TaskNotified", "TaskHeartbeat", "EntityMessage", "RunArchived", "RunRestore", "RunnerReport", "TaskWish"}[n]
}

// EncodeInbox encodes m for the inbox topic.
func EncodeInbox(m InboxMessage) []byte { return wire.Marshal(&Inbox{m}) }

// DecodeInbox decodes the value of an inbox record. User values alias b.
func DecodeInbox(b []byte) (InboxMessage, error) {
	var m Inbox
	if err := wire.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("decoding inbox record: %w", err)
	}
	if m.Message == nil {
		return nil, fmt.Errorf("decoding inbox record: it is empty")
	}
	return m.Message, nil
}
