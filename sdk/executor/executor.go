package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Adapter hands work over to something else that does it: a queue of jobs, a batch system, a program in a
// terminal. It is called from many goroutines at once.
//
// The context of its methods is that of a task's function: package task tells more of the attempt to Dispatch.
// None may panic; what one panics with is an error.
type Adapter interface {
	// Dispatch begins a work, or finds it if it has begun: it is called again with the same Work.Key when an executor has
	// died, or has not learnt the answer, and then must answer as for the first time, without a second beginning. So
	// whatever the work becomes is named by its key.
	//
	// An error that has a *task.Error, or any other error that says how an attempt failed, fails the
	// attempt: the work is known not to go on, and another attempt begins another work. ErrHandBack gives the attempt to
	// another executor, when the work has not begun. By all other errors nobody knows whether the work has begun:
	// Dispatch is called again after a while. When the context ends, Dispatch returns soon, with its cause.
	Dispatch(ctx context.Context, w Work) (Answer, error)

	// Cancel ends a work, which may have ended, or may never have begun, or have been cancelled before: that is no error.
	// It may return before the work obeys, but it has to be durable: the work ends though this process dies. An
	// error lets it be called again.
	Cancel(ctx context.Context, ref Ref) error

	// Recover says how works are doing: one State for each ref, in their order. It is asked for all that an executor has
	// handed over, every second or so, and about those that another executor has handed over before it died. An error says nothing about
	// any of them, and lets it be called again; a State that is none (State.Check) says nothing about its own work.
	Recover(ctx context.Context, refs []Ref) ([]State, error)
}

// Work is what one attempt asks for.
type Work struct {
	// Key names the work: KeySize characters of 0-9 and a-f, made of the token of the attempt that has begun it. An
	// attempt that replaces one that was lost has the same key, and one that follows a failure another one.
	Key   string
	Task  string          // its name
	Input json.RawMessage // JSON
	Laid  bool            // parameters of the definition were laid over a value that arrived: further fields of the input came with that, and are no mistake
}

// Ref is how a work is found again. It outlives the executor: the key is the planner's, and the ID is kept in
// the journal as details of a heartbeat.
type Ref struct {
	Key string // of the Work
	ID  string // as Dispatch has accepted it; empty also where its answer was lost: then the key has to do
}

const (
	// MaxID is how many bytes the ID of a work may have.
	MaxID = 512
	// KeySize is how many characters its key has.
	KeySize = 40
	// MaxRefs is for how many works Recover is asked at a time.
	MaxRefs = 500
)

// ErrHandBack gives an attempt back to its queue: this executor cannot begin the work now, and another one may. It
// costs the attempt nothing and comes again within 10 s.
var ErrHandBack = errors.New("the work cannot begin here")

// Answer is what came of a Dispatch.
type Answer struct {
	Kind   Kind
	ID     string          // of accepted work, or of work that is watched
	Result json.RawMessage // of done work
}

// Kind is what an Answer says.
type Kind uint8

// The kinds of answers.
const (
	// KindDone: the work was done at once.
	KindDone Kind = iota + 1
	// KindAccepted: the work goes on, and Recover tells of it.
	KindAccepted
	// KindTold: the work goes on, and whoever does it tells of its end by the attempt's token (task.Token), over the API.
	// Cancel is not called, and no executor need live for it. Recover is asked only where the answer has an ID (Watched).
	KindTold
)

// Done answers with a result, which is JSON; empty is null.
func Done(result json.RawMessage) Answer { return Answer{Kind: KindDone, Result: result} }

// Accepted answers that the work goes on under an ID of up to MaxID bytes, which may be empty.
func Accepted(id string) Answer { return Answer{Kind: KindAccepted, ID: id} }

// Told answers that the end of the work will be told by the attempt's token.
func Told() Answer { return Answer{Kind: KindTold} }

// Watched answers as Told does, under an ID of up to MaxID bytes. For as long as the executor lives that has handed the work over, its
// Recover is asked every few seconds, by that ID: the attempt ends by what it says, unless that was told by the token before, or is lost
// if the work is Unknown. It is for what may die without a word, and the newest 1,000 works are watched.
func Watched(id string) Answer { return Answer{Kind: KindTold, ID: id} }

// Check says what is wrong with an answer, which is an adapter's mistake; nil: nothing.
func (a Answer) Check() error {
	switch {
	case a.Kind < KindDone || a.Kind > KindTold:
		return fmt.Errorf("the answer has the kind %d", a.Kind)
	case len(a.ID) > MaxID:
		return fmt.Errorf("the ID has %d bytes, the limit is %d", len(a.ID), MaxID)
	case !utf8.ValidString(a.ID):
		return errors.New("the ID is no UTF-8")
	}
	return nil
}

// State is how a work is doing.
type State struct {
	Phase  Phase
	Result json.RawMessage // of done work: JSON; empty is null
	Err    error           // of failed work: a *task.Error says more than its message
}

// Phase is how far a work has come.
type Phase uint8

// The phases. Whatever is Done or Failed stays so.
const (
	// PhaseRunning: it is not at its end, so it waits or somebody is at it.
	PhaseRunning Phase = iota + 1
	// PhaseDone: it has a result.
	PhaseDone
	// PhaseFailed: it has ended without one, also by Cancel.
	PhaseFailed
	// PhaseUnknown: there is no such work, or not any more. An attempt that waits for it is lost.
	PhaseUnknown
)

// Running is the State of a work that is not at its end.
func Running() State { return State{Phase: PhaseRunning} }

// Completed is the State of a work with its result.
func Completed(result json.RawMessage) State { return State{Phase: PhaseDone, Result: result} }

// Failed is the State of a work that failed. The error must not be nil.
func Failed(err error) State { return State{Phase: PhaseFailed, Err: err} }

// Unknown is the State of a work that nobody knows.
func Unknown() State { return State{Phase: PhaseUnknown} }

// Check says what is wrong with a state, which is an adapter's mistake; nil: nothing.
func (s State) Check() error {
	switch {
	case s.Phase < PhaseRunning || s.Phase > PhaseUnknown:
		return fmt.Errorf("the state has the phase %d", s.Phase)
	case s.Phase == PhaseFailed && s.Err == nil:
		return errors.New("the work has failed, and nothing says why")
	}
	return nil
}
