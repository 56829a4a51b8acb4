package executortest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/executor"
)

// What is at no end is running, however often one asks.
func running(t *testing.T, k *kit) {
	w := k.work()
	ref := accepted(t, k.adapter, w)
	wantPhase(t, k.adapter, ref, executor.PhaseRunning) // also before anybody has begun it
	k.begun(t, w)
	for range 3 {
		wantPhase(t, k.adapter, ref, executor.PhaseRunning)
	}
	k.World.End(w.Key, result, "")
	wantEnd(t, k.adapter, ref, executor.PhaseDone)
}

// Done work has its result, and stays so.
func done(t *testing.T, k *kit) {
	for _, want := range []json.RawMessage{result, json.RawMessage("null"), json.RawMessage(`"text"`), json.RawMessage("false")} {
		w := k.work()
		ref := accepted(t, k.adapter, w)
		k.begun(t, w)
		k.World.End(w.Key, want, "")
		for range 2 {
			got := orNull(wantEnd(t, k.adapter, ref, executor.PhaseDone).Result)
			if !sameJSON(got, want) {
				t.Errorf("the result is %s, want %s", got, want)
			}
		}
	}
}

// An end is one, whoever is told of it: executors that ask at the same time are all told the same, and are told no other one behind
// that, whatever is asked of the work. So the outcome of an attempt is told once, however many have waited for it.
func oneEnd(t *testing.T, k *kit) {
	for _, want := range []executor.State{executor.Completed(result), executor.Failed(errors.New("out of paper"))} {
		w := k.work()
		ref := accepted(t, k.adapter, w)
		k.begun(t, w)
		told := make(chan executor.State)
		const executors = 4
		for range executors {
			a := k.Open(t)
			go func() { told <- k.tellEnd(t, a, ref) }()
		}
		if want.Phase == executor.PhaseDone {
			k.World.End(w.Key, want.Result, "")
		} else {
			k.World.End(w.Key, nil, want.Err.Error())
		}
		var ends []executor.State
		for range executors {
			ends = append(ends, <-told)
		}
		if t.Failed() {
			return
		}
		dispatch(t, k.adapter, w)
		cancel(t, k.adapter, ref)
		for _, s := range append(ends, states(t, k.adapter, ref)...) {
			if s.Phase != want.Phase || !sameJSON(orNull(s.Result), orNull(want.Result)) {
				t.Errorf("an executor is told of the end of %s that it is %d with %s (%v), want %d with %s", w.Key, s.Phase, s.Result, s.Err, want.Phase, want.Result)
			}
		}
		k.once(t, w, 1)
	}
}

// tellEnd is what an adapter tells of the end of a work, which it must tell again. It is called from a goroutine of its own.
func (k *kit) tellEnd(t testing.TB, a executor.Adapter, ref executor.Ref) (first executor.State) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(lookEvery) {
		all, err := a.Recover(t.Context(), []executor.Ref{ref})
		switch {
		case err != nil || len(all) != 1:
			t.Errorf("asking about %s: %d answers: %v", ref.Key, len(all), err)
			return first
		case all[0].Phase == executor.PhaseRunning && first.Phase == 0:
		case first.Phase == 0:
			first = all[0]
		default:
			return all[0]
		}
	}
	t.Errorf("an executor is not told, or not twice, that %s has ended", ref.Key)
	return first
}

func orNull(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("null")
	}
	return value
}

// Failed work says why.
func failed(t *testing.T, k *kit) {
	w := k.work()
	ref := accepted(t, k.adapter, w)
	k.begun(t, w)
	k.World.End(w.Key, nil, "out of paper")
	if s := wantEnd(t, k.adapter, ref, executor.PhaseFailed); !strings.Contains(s.Err.Error(), "out of paper") {
		t.Errorf("it has failed with %v", s.Err)
	}
}

// What never was, and what is not any more, is unknown.
func unknown(t *testing.T, k *kit) {
	never := k.work()
	wantPhase(t, k.adapter, executor.Ref{Key: never.Key}, executor.PhaseUnknown)
	w := k.work()
	ref := accepted(t, k.adapter, w)
	k.begun(t, w)
	if s := states(t, k.adapter, executor.Ref{Key: never.Key, ID: ref.ID})[0]; s.Phase != executor.PhaseUnknown && ref.ID != "" {
		t.Errorf("by the ID of another work it has the phase %d", s.Phase)
	}
	k.World.End(w.Key, result, "")
	wantEnd(t, k.adapter, ref, executor.PhaseDone)
	k.World.Forget(t, w.Key)
	wantPhase(t, k.adapter, ref, executor.PhaseUnknown)
	if all := states(t, k.adapter); len(all) != 0 {
		t.Errorf("asked about nothing it answers %v", all)
	}
}

// States come in the order of the refs, also those of as many as may be asked about at a time.
func order(t *testing.T, k *kit) {
	const works = 5
	var refs []executor.Ref
	for n := range executor.MaxRefs {
		w := k.work()
		ref := executor.Ref{Key: w.Key}
		if n%(executor.MaxRefs/works) == 0 {
			ref = accepted(t, k.adapter, w)
			if n%2 == 1 {
				ref.ID = ""
			}
		}
		refs = append(refs, ref)
	}
	refs = append(refs[1:], refs[0])
	for i, s := range states(t, k.adapter, refs...) {
		want := executor.PhaseUnknown
		if (i+1)%(executor.MaxRefs/works) == 0 {
			want = executor.PhaseRunning
		}
		if s.Phase != want {
			t.Errorf("the work %d of %d has the phase %d, want %d", i, len(refs), s.Phase, want)
		}
	}
}

// A work whose end is told by the token is no one's to be asked for.
func told(t *testing.T, k *kit) {
	w := k.work()
	if answer := dispatch(t, k.adapter, w); answer.Kind != executor.KindTold {
		t.Errorf("the answer is %+v", answer)
	}
	for range 2 {
		cancel(t, k.adapter, executor.Ref{Key: w.Key})
	}
	if s := states(t, k.adapter, executor.Ref{Key: key(99)})[0]; s.Phase != executor.PhaseUnknown {
		t.Errorf("what never was has the phase %d", s.Phase)
	}
}

func toldContextEnded(t *testing.T, k *kit) {
	soon(t, "Dispatch whose context has ended", func() {
		if answer, err := k.adapter.Dispatch(over(t), k.work()); err == nil && answer.Kind != executor.KindTold {
			t.Errorf("it answers %+v", answer)
		}
	})
	if answer := dispatch(t, k.adapter, k.work()); answer.Kind != executor.KindTold {
		t.Errorf("behind that the answer is %+v", answer)
	}
}
