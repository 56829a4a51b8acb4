package executortest

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/executor"
)

// patience is how long the kit waits for what has to happen; a variable for its own tests.
var patience = 20 * time.Second

// lookEvery is how often it looks.
const lookEvery = 2 * time.Millisecond

// dispatch hands a work over, which must be accepted or, where it has ended, be told to be.
func dispatch(t testing.TB, a executor.Adapter, w executor.Work) executor.Answer {
	t.Helper()
	answer, err := a.Dispatch(t.Context(), w)
	if err == nil {
		err = answer.Check()
	}
	if err != nil {
		t.Fatalf("dispatching %s: %v", w.Key, err)
	}
	return answer
}

// accepted hands a work over that goes on.
func accepted(t testing.TB, a executor.Adapter, w executor.Work) executor.Ref {
	t.Helper()
	answer := dispatch(t, a, w)
	if answer.Kind != executor.KindAccepted {
		t.Fatalf("the answer to %s has the kind %d, and the work goes on", w.Key, answer.Kind)
	}
	return executor.Ref{Key: w.Key, ID: answer.ID}
}

// states asks about works.
func states(t testing.TB, a executor.Adapter, refs ...executor.Ref) []executor.State {
	t.Helper()
	all, err := a.Recover(t.Context(), refs)
	if err != nil {
		t.Fatalf("asking about %d works: %v", len(refs), err)
	}
	if len(all) != len(refs) {
		t.Fatalf("asked about %d works, it answers about %d", len(refs), len(all))
	}
	for i, s := range all {
		if err := s.Check(); err != nil {
			t.Fatalf("of %s: %v", refs[i].Key, err)
		}
	}
	return all
}

// wantPhase holds what a work is doing, by its ID and by its key alone.
func wantPhase(t testing.TB, a executor.Adapter, ref executor.Ref, want executor.Phase) executor.State {
	t.Helper()
	all := states(t, a, ref, executor.Ref{Key: ref.Key})
	for i, how := range []string{"ID", "key"} {
		if all[i].Phase != want {
			t.Fatalf("the work %s has by its %s the phase %d (%v), want %d", ref.Key, how, all[i].Phase, all[i].Err, want)
		}
	}
	return all[0]
}

// ended waits until a work is not running any more.
func ended(t testing.TB, a executor.Adapter, ref executor.Ref) executor.State {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(lookEvery) {
		s := states(t, a, ref)[0]
		if s.Phase != executor.PhaseRunning {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("the work %s does not end", ref.Key)
		}
	}
}

// wantEnd waits for the end of a work.
func wantEnd(t testing.TB, a executor.Adapter, ref executor.Ref, want executor.Phase) executor.State {
	t.Helper()
	if s := ended(t, a, ref); s.Phase != want {
		t.Fatalf("the work %s ends with the phase %d (%v), want %d", ref.Key, s.Phase, s.Err, want)
	}
	return wantPhase(t, a, ref, want)
}

// begun waits until somebody has begun a work.
func (k *kit) begun(t testing.TB, w executor.Work) json.RawMessage {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(lookEvery) {
		times, input := k.World.Begun(w.Key)
		if times > 0 {
			return input
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody begins the work %s", w.Key)
		}
	}
}

// once holds how often a work was begun.
func (k *kit) once(t testing.TB, w executor.Work, want int) {
	t.Helper()
	if times, _ := k.World.Begun(w.Key); times != want {
		t.Errorf("the work %s was begun %d times, want %d", w.Key, times, want)
	}
}

// sameJSON reports whether two values are equal but for spaces and the order of fields.
func sameJSON(a, b json.RawMessage) bool { return bytes.Equal(plain(a), plain(b)) }

func plain(value json.RawMessage) []byte {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return value
	}
	b, err := json.Marshal(v)
	if err != nil {
		return value
	}
	return b
}

// soon runs what must not take long.
func soon(t testing.TB, what string, do func()) {
	t.Helper()
	over := make(chan struct{})
	go func() { do(); close(over) }()
	select {
	case <-over:
	case <-time.After(patience):
		t.Fatalf("%s does not return", what)
	}
}

// over is a context that has ended.
func over(t testing.TB) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errOver)
	return ctx
}
