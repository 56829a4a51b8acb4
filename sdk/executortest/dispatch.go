package executortest

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-run/heddle/sdk/executor"
)

var errOver = errors.New("the attempt is over")

var result = json.RawMessage(`{"pages": [1, 2.5, "three"]}`)

// A work that is handed over again is the same one, and goes on under the same ID.
func dispatchedTwice(t *testing.T, k *kit) {
	w := k.work()
	first := accepted(t, k.adapter, w)
	k.begun(t, w)
	if again := accepted(t, k.adapter, w); again != first {
		t.Errorf("handed over again, it is %+v, and was %+v", again, first)
	}
	other := k.work()
	if ref := accepted(t, k.adapter, other); ref.ID == first.ID && ref.ID != "" {
		t.Errorf("two works have the ID %q", ref.ID)
	}
	k.begun(t, other)
	k.World.End(w.Key, result, "")
	wantEnd(t, k.adapter, first, executor.PhaseDone)
	k.once(t, w, 1)
}

// Whoever hands over the same work at the same moment, from several executors, begins it once.
func dispatchedByMany(t *testing.T, k *kit) {
	const each, works = 8, 4
	adapters := []executor.Adapter{k.adapter, k.Open(t)}
	var mu sync.Mutex
	refs := map[executor.Ref]int{}
	var all sync.WaitGroup
	var own []executor.Work
	for range works {
		own = append(own, k.work())
	}
	for n := range each * works {
		all.Go(func() {
			w, a := own[n%works], adapters[n/works%2]
			answer, err := a.Dispatch(t.Context(), w)
			if err != nil || answer.Kind != executor.KindAccepted {
				t.Errorf("dispatching %s: %+v, %v", w.Key, answer, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			refs[executor.Ref{Key: w.Key, ID: answer.ID}]++
		})
	}
	all.Wait()
	if len(refs) != works {
		t.Fatalf("%d works were accepted as %v", works, refs)
	}
	for _, w := range own {
		k.begun(t, w)
		k.World.End(w.Key, result, "")
	}
	for ref := range refs {
		wantEnd(t, k.adapter, ref, executor.PhaseDone)
	}
	for _, w := range own {
		k.once(t, w, 1)
	}
}

// A work that has ended, in whatever way, is not begun again by its key.
func dispatchedBehindItsEnd(t *testing.T, k *kit) {
	for _, end := range []func(executor.Work, executor.Ref) executor.Phase{
		func(w executor.Work, _ executor.Ref) executor.Phase {
			k.World.End(w.Key, result, "")
			return executor.PhaseDone
		},
		func(w executor.Work, _ executor.Ref) executor.Phase {
			k.World.End(w.Key, nil, "out of paper")
			return executor.PhaseFailed
		},
		func(_ executor.Work, ref executor.Ref) executor.Phase {
			cancel(t, k.adapter, ref)
			return executor.PhaseFailed
		},
	} {
		w := k.work()
		ref := accepted(t, k.adapter, w)
		k.begun(t, w)
		phase := end(w, ref)
		wantEnd(t, k.adapter, ref, phase)
		answer, err := k.Open(t).Dispatch(t.Context(), w)
		switch {
		case err != nil && phase == executor.PhaseFailed: // it may say at once how the work has failed
		case err != nil:
			t.Errorf("handed over behind its end: %v", err)
		case answer.Kind == executor.KindDone && phase == executor.PhaseDone:
			if !sameJSON(answer.Result, result) {
				t.Errorf("handed over behind its end, it is done with %s", answer.Result)
			}
		case answer.Kind != executor.KindAccepted:
			t.Errorf("handed over behind its end, the answer is %+v", answer)
		default:
			wantPhase(t, k.adapter, executor.Ref{Key: w.Key, ID: answer.ID}, phase)
		}
		k.once(t, w, 1)
	}
}

// Another executor finds what one has handed over before it died: by its ID, by its key, and by handing it over again.
func foundByAnother(t *testing.T, k *kit) {
	w := k.work()
	ref := accepted(t, k.adapter, w)
	k.begun(t, w)
	other := k.Open(t)
	wantPhase(t, other, ref, executor.PhaseRunning)
	if again := accepted(t, other, w); again != ref {
		t.Errorf("another executor is told %+v, and the first one was %+v", again, ref)
	}
	k.World.End(w.Key, result, "")
	if s := wantEnd(t, other, ref, executor.PhaseDone); !sameJSON(s.Result, result) {
		t.Errorf("another executor is told the result %s", s.Result)
	}
	k.once(t, w, 1)
}

// An input of half a megabyte arrives as it is.
func largeInput(t *testing.T, k *kit) {
	w := k.work()
	input, err := json.Marshal(map[string]any{"text": strings.Repeat("größer ", 1<<16), "n": 7})
	if err != nil {
		t.Fatal(err)
	}
	w.Input = input
	ref := accepted(t, k.adapter, w)
	if got := k.begun(t, w); !sameJSON(got, input) {
		t.Errorf("%d bytes were handed over, and %d have arrived, which are another value", len(input), len(got))
	}
	k.World.End(w.Key, result, "")
	wantEnd(t, k.adapter, ref, executor.PhaseDone)
}

// Calls whose context has ended return, and leave nothing in the way of those that follow.
func contextEnded(t *testing.T, k *kit) {
	w := k.work()
	soon(t, "Dispatch whose context has ended", func() {
		if answer, err := k.adapter.Dispatch(over(t), w); err == nil && answer.Check() != nil {
			t.Errorf("it answers %+v", answer)
		}
	})
	ref := accepted(t, k.adapter, w)
	k.begun(t, w)
	soon(t, "Recover whose context has ended", func() {
		if all, err := k.adapter.Recover(over(t), []executor.Ref{ref}); err == nil && (len(all) != 1 || all[0].Phase != executor.PhaseRunning) {
			t.Errorf("of what goes on it answers %+v", all)
		}
	})
	wantPhase(t, k.adapter, ref, executor.PhaseRunning)
	soon(t, "Cancel whose context has ended", func() {
		if err := k.adapter.Cancel(over(t), ref); err == nil {
			wantEnd(t, k.adapter, ref, executor.PhaseFailed) // it has said so
		}
	})
	cancel(t, k.adapter, ref)
	wantEnd(t, k.adapter, ref, executor.PhaseFailed)
	k.once(t, w, 1)
}
