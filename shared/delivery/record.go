package delivery

import "fmt"

// Record is the dispatch record of a delivery, as it is shown.
type Record struct {
	RequestID    string    `json:"request_id"` // the token of the attempt
	Target       string    `json:"target"`     // the task queue
	Status       State     `json:"status"`
	Reason       *string   `json:"reason"`     // of the status; null: nothing was said yet
	CreatedAt    string    `json:"created_at"` // RFC 3339, UTC, as all of its times
	NotifiedAt   *string   `json:"notified_at"`
	DeliveredAt  *string   `json:"delivered_at"`
	FailedAt     *string   `json:"failed_at"`
	AttemptCount uint32    `json:"attempt_count"` // the number of the attempt
	Metadata     *Metadata `json:"metadata"`
}

// Metadata says whose delivery it is.
type Metadata struct {
	Workflow string `json:"workflow"`
	Runnable string `json:"runnable"`
	Executor string `json:"executor,omitempty"` // that has it, or had it last
}

// next are the states that may follow each.
var next = map[State][]State{
	Pending:  {Notified, Failed},
	Notified: {Delivered, Failed},
}

// To reports whether a delivery in state s may come to another one: nil, or an *InvalidTransition. No state
// follows itself.
func (s State) To(to State) error {
	for _, n := range next[s] {
		if n == to {
			return nil
		}
	}
	return &InvalidTransition{From: s, To: to}
}

// Ended reports whether nothing follows a state.
func (s State) Ended() bool { return s == Delivered || s == Failed }

// Removed is no state of a delivery: it is what an operator asks for who removes its record.
const Removed State = "removed"

// InvalidTransition refuses a transition that no delivery makes.
type InvalidTransition struct{ From, To State }

func (e *InvalidTransition) Error() string {
	return fmt.Sprintf("invalid transition of a delivery: from %s to %s", e.From, e.To)
}

// NotFound says that there is no record of a request: there never was one, or it was removed, or it has ended so
// long ago that it was forgotten.
type NotFound struct{ ID string }

func (e *NotFound) Error() string {
	return fmt.Sprintf("no dispatch record has the request id %q", e.ID)
}

// DuplicateRequestID says that a request id is named twice.
type DuplicateRequestID struct{ ID string }

func (e *DuplicateRequestID) Error() string {
	return fmt.Sprintf("the request id %q is named twice", e.ID)
}

// InvalidRequestID says that a text is no request id.
type InvalidRequestID struct{ ID string }

func (e *InvalidRequestID) Error() string {
	return fmt.Sprintf("%q is no request id: it is the token of an attempt, as heddle partitions dispatches shows it", e.ID)
}
