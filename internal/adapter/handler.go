package adapter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/task"
)

// Config says what a Handler runs and how. Zero durations mean the defaults.
type Config struct {
	Adapter  executor.Adapter
	Stopping <-chan struct{} // closed when the worker is to stop: what was handed over is left to others
	Every    time.Duration   // between two questions about one work; 1 s
	Logger   *slog.Logger    // nil: silent
}

const (
	defaultEvery = time.Second
	// firstPause and lastPause are waited before something is tried again.
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
	// askFor bounds one call of Recover, and cancelFor one of Cancel, and for how long an attempt waits until its work is
	// cancelled.
	askFor    = 30 * time.Second
	cancelFor = 30 * time.Second
)

// Handler is a worker.Handler.
type Handler struct {
	adapter  executor.Adapter
	stopping <-chan struct{}
	log      *slog.Logger
	watch    *watch
	vigil    vigil
	orphans  orphans
}

// New makes a Handler.
func New(c Config) *Handler {
	if c.Every == 0 {
		c.Every = defaultEvery
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	a := &contained{Adapter: c.Adapter, log: c.Logger}
	h := &Handler{adapter: a, stopping: c.Stopping, log: c.Logger, watch: &watch{adapter: a, soonest: soonest, every: c.Every, log: c.Logger}}
	h.vigil = vigil{watch: watch{adapter: a, soonest: vigilEvery, every: vigilEvery, log: c.Logger}, stopping: c.Stopping}
	h.orphans = orphans{cancel: h.cancelOnce, stopping: c.Stopping, log: c.Logger, limit: orphansMax}
	return h
}

// keyOf names the work that a sealed token has begun. It tells nobody the token, by which the attempt could be ended.
func keyOf(token []byte) string {
	sum := sha256.Sum256(token)
	return hex.EncodeToString(sum[:executor.KeySize/2])
}

// call is one attempt.
type call struct {
	*Handler
	attempt *worker.Attempt
	work    executor.Work
}

// Run implements worker.Handler.
func (h *Handler) Run(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
	c := &call{Handler: h, attempt: a, work: executor.Work{Key: keyOf(begunBy(a)), Task: a.Spec.Task, Input: a.Spec.Input, Laid: a.Spec.Laid}}
	if len(c.work.Input) == 0 {
		c.work.Input = json.RawMessage("null")
	}
	ctx = task.WithSource(ctx, &Source{a, h.log})
	if ref, noted := c.noted(); noted {
		state, err := c.find(ctx, ref)
		switch {
		case err != nil:
			return nil, err
		case state.Phase == executor.PhaseRunning:
			return c.wait(ctx, ref)
		case state.Phase != executor.PhaseUnknown: // whoever knows it not any more is to do it again, as on_lost has decided
			return end(state)
		}
	}
	answer, err := c.dispatch(ctx)
	switch {
	case err != nil:
		return nil, err
	case answer.Kind == executor.KindTold:
		if answer.ID != "" {
			h.vigil.keep(a, executor.Ref{Key: c.work.Key, ID: answer.ID})
		}
		return nil, worker.ErrPending
	case answer.Kind == executor.KindDone:
		return answer.Result, nil
	}
	if err := c.note(answer.ID); err != nil {
		return nil, err
	}
	return c.wait(ctx, executor.Ref{Key: c.work.Key, ID: answer.ID})
}

// begunBy is the token of the attempt that has begun the work.
func begunBy(a *worker.Attempt) []byte {
	if len(a.Spec.Work) > 0 {
		return a.Spec.Work
	}
	return a.Spec.Token
}

// dispatch hands the work over. While nobody knows whether it has begun it is handed over again.
func (c *call) dispatch(ctx context.Context) (executor.Answer, error) {
	told := ""
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		answer, err := c.adapter.Dispatch(ctx, c.work)
		_, failed := errors.AsType[worker.Failure](err)
		switch {
		case err == nil, failed:
			return answer, err
		case errors.Is(err, executor.ErrHandBack):
			return answer, fmt.Errorf("%w for now: %w", worker.ErrUnknownTask, err)
		case ctx.Err() != nil:
			return answer, c.ended(ctx, executor.Ref{Key: c.work.Key})
		}
		if told != err.Error() {
			told = err.Error()
			c.log.Warn("whether a work has begun is not known; it is handed over again",
				"task", c.work.Task, "workflow", c.attempt.Workflow, "work", c.work.Key, "error", err)
		}
		if err := c.pause(ctx, pause); err != nil {
			return answer, err
		}
	}
}

// find asks for a work that another attempt was told to be accepted, until there is an answer.
func (c *call) find(ctx context.Context, ref executor.Ref) (executor.State, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		states, err := recovered(ctx, c.adapter, []executor.Ref{ref})
		if err == nil {
			return states[0], nil
		}
		c.log.Warn("a work of another executor is not found yet", "workflow", c.attempt.Workflow, "work", ref.Key, "error", err)
		if err := c.pause(ctx, pause); err != nil {
			return executor.State{}, err
		}
	}
}

// wait waits for the end of a work that was accepted.
func (c *call) wait(ctx context.Context, ref executor.Ref) (json.RawMessage, error) {
	ends := c.watch.add(ref)
	defer c.watch.remove(ends)
	select {
	case state := <-ends.state:
		return end(state)
	case <-ctx.Done():
	case <-c.stopping:
	}
	select {
	case state := <-ends.state: // at the same moment
		return end(state)
	default:
	}
	if ctx.Err() == nil {
		return nil, errStops
	}
	return nil, c.ended(ctx, ref)
}

// errStops hands back what was handed over: the next executor finds it.
var errStops = fmt.Errorf("%w for now: its executor stops, and another one goes on with the work", worker.ErrUnknownTask)

// end is what the end of a work means for its attempt.
func end(s executor.State) (json.RawMessage, error) {
	switch s.Phase {
	case executor.PhaseDone:
		return s.Result, nil
	case executor.PhaseFailed:
		return nil, s.Err
	case executor.PhaseRunning, executor.PhaseUnknown:
	}
	return nil, fmt.Errorf("%w: nobody knows the work any more that was handed over", worker.ErrLost)
}

// ended ends a work whose attempt has ended, unless only its executor stops. It returns what the attempt came to.
func (c *call) ended(ctx context.Context, ref executor.Ref) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, worker.ErrDrained) {
		return errStops
	}
	c.cancel(ctx, ref)
	return cause
}

// pause waits before something is tried again that may have begun a work.
func (c *call) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.stopping:
		return errStops
	case <-ctx.Done():
		return c.ended(ctx, executor.Ref{Key: c.work.Key})
	}
}

// cancel ends a work. What cannot be cancelled for a while is left to the orphans: its attempt has to end.
func (h *Handler) cancel(ctx context.Context, ref executor.Ref) {
	began := time.Now()
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelFor)
	defer stop()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := h.adapter.Cancel(ctx, ref)
		if err == nil {
			return
		}
		h.log.Warn("a work is not cancelled; it is tried again", "work", ref.Key, "id", ref.ID, "error", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			h.orphans.add(orphan{ref: ref, since: began, failed: true})
			return
		}
	}
}
