package events

import "github.com/heddle-run/heddle/shared/wire"

// Action is what follows from an attempt that did not complete.
type Action uint8

// Actions after a failure.
const (
	ActionRetry Action = 1 // another attempt; RetryScheduled says when
	ActionHalt  Action = 2 // the workflow fails
	ActionSkip  Action = 3 // what depends on it is suppressed
	ActionCatch Action = 4 // FailureCaught follows
)

func (a Action) String() string {
	return [...]string{"", "retry", "halt", "skip", "catch", "", "", ""}[a&7]
}

// By says who asked and why; kept in the history.
type By struct {
	Who string `json:"by,omitempty"`
	Why string `json:"why,omitempty"`
}

// Fields implements wire.Message.
func (b *By) Fields(c *wire.Codec) {
	wire.String(c, 1, "by", &b.Who)
	wire.String(c, 2, "why", &b.Why)
}
