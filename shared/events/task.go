package events

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/heddle-run/heddle/shared/wire"
)

// TaskError is why an attempt failed.
type TaskError struct {
	Type         string          `json:"type"`
	Message      string          `json:"message"`
	NonRetryable bool            `json:"non_retryable,omitempty"`
	RetryAfterMs int64           `json:"retry_after_ms,omitempty"`
	Details      json.RawMessage `json:"details,omitempty"`
}

// Fields implements wire.Message.
func (e *TaskError) Fields(c *wire.Codec) {
	wire.String(c, 1, "type", &e.Type)
	wire.String(c, 2, "message", &e.Message)
	c.Bool(3, "non_retryable", &e.NonRetryable)
	wire.Int(c, 4, "retry_after_ms", &e.RetryAfterMs)
	c.JSON(5, "details", &e.Details)
}

// Bounds of what an attempt says of itself, in bytes: it becomes part of the
// workflow's state, of its status and of the next attempt's record.
const (
	MaxErrorType    = 256
	MaxErrorMessage = 8 << 10
	MaxDetails      = 64 << 10 // of an error and of a heartbeat
	MaxExecutor     = 256      // the name of who runs it
	MaxChannel      = 256      // how it reached them
)

// Bounded is e within its bounds: texts are cut, details that are too large are
// left out, and both is said in the message.
func (e TaskError) Bounded() TaskError {
	e.Type = Cut(e.Type, MaxErrorType)
	if m := Cut(e.Message, MaxErrorMessage); len(m) < len(e.Message) {
		e.Message = m + "… (cut)"
	}
	if len(e.Details) > MaxDetails {
		e.Details = nil
		e.Message += fmt.Sprintf(" (its details had more than the limit of %d bytes)", MaxDetails)
	}
	e.RetryAfterMs = min(e.RetryAfterMs, MaxMilliseconds)
	return e
}

// Cut is s, or as many whole runes of it as fit n bytes.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Error types that Heddle itself gives to failures.
const (
	ErrorTimeout          = "timeout"
	ErrorStartTimeout     = "start_timeout"
	ErrorDeadline         = "deadline"
	ErrorHeartbeatTimeout = "heartbeat_timeout"
	ErrorCircuitOpen      = "circuit_open"
	ErrorLost             = "lost"
	ErrorUnknownTask      = "unknown_task"
	ErrorNoAlarm          = "no_alarm" // it wants to sleep, and nothing would end that
	ErrorSleeping         = "sleeping" // of a runner's word alone: it has ended to go on at its alarm
	ErrorExpression       = "expression_error"
	ErrorNotAList         = "not_a_list"
	ErrorSkipped          = "skipped"
	ErrorResultTooLarge   = "result_too_large"
	ErrorTooCostly        = "too_costly"
	ErrorPanic            = "panic"
	ErrorCancelled        = "cancelled"
	ErrorInvalidResult    = "invalid_result"
	ErrorInvalidInput     = "invalid_input"
	ErrorUndeliverable    = "undeliverable"
	ErrorTaskFailed       = "error"
	ErrorHTTPStatus       = "http_status"
	ErrorRequestFailed    = "request_failed"
	ErrorAddressForbidden = "address_forbidden"
	ErrorReceiverBusy     = "receiver_busy" // of a completion notice: too many calls of it hang
)

// Task is an attempt on the wire: the value of a record on a queue's topic,
// whose key is the workflow ID.
type Task struct {
	Token          []byte // sealed
	Task           string
	Component      string
	Attempt        uint32
	Input          json.RawMessage
	Context        json.RawMessage // object, or empty
	Deadline       int64           // Unix ms at which nobody waits for the outcome any more; 0 = none
	IdempotencyKey string          // equal for all attempts of a runnable
	TraceParent    string
	Heartbeat      json.RawMessage // details of the previous attempt's last heartbeat
	Laid           bool            // parameters of the definition were laid over a value that arrived: what else is in the input came with that
	Timeout        int64           // ms that the attempt may take once it has started; 0 = no limit
	Announce       bool            // the worker says at once that it has begun: there is a limit to that, or to its silence
	Silence        int64           // ms between two heartbeats that the task itself gives; 0 = no limit
	Work           []byte          // sealed token of the attempt that began the work, where that was lost or handed back and this one goes on with it; empty: this one begins it
}

// Fields implements wire.Message.
func (t *Task) Fields(c *wire.Codec) {
	c.Bytes(1, "token", &t.Token)
	wire.Name(c, 2, "task", &t.Task)
	wire.Name(c, 3, "component", &t.Component)
	wire.Int(c, 4, "attempt", &t.Attempt)
	c.JSON(5, "input", &t.Input)
	c.JSON(6, "context", &t.Context)
	wire.Int(c, 7, "deadline", &t.Deadline)
	wire.String(c, 8, "idempotency_key", &t.IdempotencyKey)
	wire.String(c, 9, "trace_parent", &t.TraceParent)
	c.JSON(10, "heartbeat", &t.Heartbeat)
	wire.Int(c, 11, "timeout", &t.Timeout)
	c.Bool(12, "laid", &t.Laid)
	c.Bool(13, "announce", &t.Announce)
	wire.Int(c, 14, "silence", &t.Silence)
	c.Bytes(15, "work", &t.Work)
}

// TaskCancel asks every worker to cancel a running attempt (topic task-control).
type TaskCancel struct {
	Token  []byte
	Reason string
	Work   []byte // as in Task
}

// Fields implements wire.Message.
func (t *TaskCancel) Fields(c *wire.Codec) {
	c.Bytes(1, "token", &t.Token)
	wire.String(c, 2, "reason", &t.Reason)
	c.Bytes(3, "work", &t.Work)
}
