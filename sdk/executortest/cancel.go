package executortest

import (
	"context"
	"testing"

	"github.com/heddle-run/heddle/sdk/executor"
)

// maxSteps is more than an adapter can be cut off at.
const maxSteps = 1000

func cancel(t testing.TB, a executor.Adapter, ref executor.Ref) {
	t.Helper()
	if err := a.Cancel(t.Context(), ref); err != nil {
		t.Fatalf("cancelling %s: %v", ref.Key, err)
	}
}

// A work that runs ends when it is cancelled, and cancelling it again is no error.
func cancelledRunning(t *testing.T, k *kit) {
	w, other := k.work(), k.work()
	ref, stays := accepted(t, k.adapter, w), accepted(t, k.adapter, other)
	k.begun(t, w)
	k.begun(t, other)
	cancel(t, k.adapter, ref)
	cancel(t, k.adapter, ref)
	wantEnd(t, k.adapter, ref, executor.PhaseFailed)
	cancel(t, k.adapter, ref)
	wantPhase(t, k.adapter, ref, executor.PhaseFailed)
	wantPhase(t, k.adapter, stays, executor.PhaseRunning)
}

// Another executor cancels by the key alone.
func cancelledByKey(t *testing.T, k *kit) {
	w := k.work()
	ref := accepted(t, k.adapter, w)
	k.begun(t, w)
	cancel(t, k.Open(t), executor.Ref{Key: w.Key})
	wantEnd(t, k.adapter, ref, executor.PhaseFailed)
	k.once(t, w, 1)
}

// What never was can be cancelled: it makes nothing.
func cancelledBefore(t *testing.T, k *kit) {
	w := k.work()
	cancel(t, k.adapter, executor.Ref{Key: w.Key})
	s := states(t, k.adapter, executor.Ref{Key: w.Key})[0]
	if s.Phase == executor.PhaseRunning || s.Phase == executor.PhaseDone {
		t.Errorf("what was only cancelled has the phase %d", s.Phase)
	}
	k.once(t, w, 0)
}

// A work that has ended keeps its end.
func cancelledBehindItsEnd(t *testing.T, k *kit) {
	w := k.work()
	ref := accepted(t, k.adapter, w)
	k.begun(t, w)
	k.World.End(w.Key, result, "")
	wantEnd(t, k.adapter, ref, executor.PhaseDone)
	cancel(t, k.adapter, ref)
	if s := wantPhase(t, k.adapter, ref, executor.PhaseDone); !sameJSON(s.Result, result) {
		t.Errorf("its result is %s", s.Result)
	}
}

// An executor that dies in the middle of handing a work over leaves it such that the next one begins it once.
func dispatchInterrupted(t *testing.T, k *kit) {
	for step := range maxSteps {
		w := k.work()
		cut := k.Interrupt(t, step, func(ctx context.Context, a executor.Adapter) {
			_, _ = a.Dispatch(ctx, w) // its executor is dead
		})
		ref := accepted(t, k.adapter, w)
		k.begun(t, w)
		k.World.End(w.Key, result, "")
		wantEnd(t, k.adapter, ref, executor.PhaseDone)
		k.once(t, w, 1)
		if !cut {
			if step == 0 {
				t.Error("nothing was interrupted")
			}
			return
		}
	}
	t.Errorf("it can be cut off at more than %d steps", maxSteps)
}

// An executor that dies in the middle of cancelling leaves a work that the next one cancels.
func cancelInterrupted(t *testing.T, k *kit) {
	for step := range maxSteps {
		w := k.work()
		ref := accepted(t, k.adapter, w)
		k.begun(t, w)
		cut := k.Interrupt(t, step, func(ctx context.Context, a executor.Adapter) {
			_ = a.Cancel(ctx, executor.Ref{Key: w.Key}) // likewise
		})
		if cut {
			cancel(t, k.adapter, executor.Ref{Key: w.Key})
		}
		wantEnd(t, k.adapter, ref, executor.PhaseFailed)
		k.once(t, w, 1)
		if !cut {
			return
		}
	}
	t.Errorf("it can be cut off at more than %d steps", maxSteps)
}
