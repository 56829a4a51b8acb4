package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/heddle-run/heddle/sdk/executor"
)

// shelf is where works lie until somebody has done them.
type shelf struct {
	mu    sync.Mutex
	works map[string]executor.State
}

func (s *shelf) Dispatch(_ context.Context, w executor.Work) (executor.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.works[w.Key]; !again {
		s.works[w.Key] = executor.Running()
	}
	return executor.Accepted(""), nil
}

func (s *shelf) Cancel(_ context.Context, ref executor.Ref) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.works[ref.Key].Phase == executor.PhaseRunning {
		s.works[ref.Key] = executor.Failed(errors.New("cancelled"))
	}
	return nil
}

func (s *shelf) Recover(_ context.Context, refs []executor.Ref) ([]executor.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := make([]executor.State, len(refs))
	for i, ref := range refs {
		state, known := s.works[ref.Key]
		if !known {
			state = executor.Unknown()
		}
		states[i] = state
	}
	return states, nil
}

// The smallest adapter: it keeps works in memory, so it forgets them when its process ends.
func ExampleAdapter() {
	var a executor.Adapter = &shelf{works: map[string]executor.State{}}
	ctx := context.Background()
	for range 2 { // the second time, its executor has died
		answer, err := a.Dispatch(ctx, executor.Work{Key: "k", Task: "jobs.render", Input: json.RawMessage(`7`)})
		fmt.Println(answer.Kind == executor.KindAccepted, err)
	}
	states, err := a.Recover(ctx, []executor.Ref{{Key: "k"}, {Key: "another"}})
	fmt.Println(states[0].Phase == executor.PhaseRunning, states[1].Phase == executor.PhaseUnknown, err)
	// Output:
	// true <nil>
	// true <nil>
	// true true <nil>
}

func ExampleAccepted() {
	fmt.Println(executor.Accepted("job 7").ID)
	// Output: job 7
}

func ExampleDone() {
	fmt.Printf("%s\n", executor.Done(json.RawMessage(`{"pages": 3}`)).Result)
	// Output: {"pages": 3}
}

func ExampleTold() {
	fmt.Println(executor.Told().Kind == executor.KindTold)
	// Output: true
}

func ExampleWatched() {
	answer := executor.Watched("pane 3")
	fmt.Println(answer.Kind == executor.KindTold, answer.ID)
	// Output: true pane 3
}

func ExampleRunning() {
	fmt.Println(executor.Running().Phase == executor.PhaseRunning)
	// Output: true
}

func ExampleCompleted() {
	fmt.Printf("%s\n", executor.Completed(json.RawMessage(`3`)).Result)
	// Output: 3
}

func ExampleFailed() {
	fmt.Println(executor.Failed(errors.New("out of paper")).Err)
	// Output: out of paper
}

func ExampleUnknown() {
	fmt.Println(executor.Unknown().Phase == executor.PhaseUnknown)
	// Output: true
}

func ExampleAnswer_Check() {
	fmt.Println(executor.Answer{}.Check())
	// Output: the answer has the kind 0
}

func ExampleState_Check() {
	fmt.Println(executor.State{Phase: executor.PhaseFailed}.Check())
	// Output: the work has failed, and nothing says why
}
