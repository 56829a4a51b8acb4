package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/services/executor/tmux"
	"github.com/heddle-run/heddle/shared/delivery"
)

// terminalSubmit is the task terminal.submit, an executor.Adapter: it hands work to a program that waits for input in a pane of
// tmux, as a coding agent does. The attempt is over once the pane has shown that it has taken the work;
// what comes of that is told by the attempt's token, or nobody waits for it.
type terminalSubmit struct {
	panes    *panes
	turns    turns
	waiting  chan struct{}   // a place for each attempt that may wait for a pane
	stopping <-chan struct{} // closed when the executor is to stop: what waits is handed back
}

const (
	errorTerminalForbidden = "terminal_forbidden"
	errorTmuxFailed        = "tmux_failed"
)

// lookEvery is how often a pane is looked at that is waited for.
const lookEvery = 250 * time.Millisecond

func newTerminalSubmit(c *Config, stopping <-chan struct{}) (*terminalSubmit, error) {
	p, err := newPanes(c.Terminals)
	if err != nil {
		return nil, err
	}
	if len(p.sessions) > 0 {
		if err := tmux.Available(); err != nil {
			return nil, fmt.Errorf("executor: terminal.submit is allowed, but %w", err)
		}
	}
	return &terminalSubmit{panes: p, waiting: make(chan struct{}, max(1, c.Slots/2)), stopping: stopping}, nil
}

// Dispatch implements executor.Adapter: it types the work. Where nobody is to reply, it is done with {reason, pane}; else the
// program tells of its end. A pane knows no keys: what nobody has told of is typed again.
func (t *terminalSubmit) Dispatch(ctx context.Context, w executor.Work) (executor.Answer, error) {
	if len(t.panes.sessions) == 0 {
		return executor.Answer{}, fmt.Errorf("%w: this executor may type into no terminal (--allow-terminal)", executor.ErrHandBack)
	}
	s, err := t.submission(ctx, w)
	if err != nil {
		return executor.Answer{}, err
	}
	v, err := s.deliver(ctx)
	if err != nil {
		return executor.Answer{}, err
	}
	return s.end(ctx, v)
}

// Cancel implements executor.Adapter: a program that has been told is not told otherwise, and what was not submitted yet, the end
// of its Dispatch has taken back.
func (t *terminalSubmit) Cancel(context.Context, executor.Ref) error { return nil }

// deliver tries until there is a verdict about the attempt: what is deferred waits here.
func (s *submission) deliver(ctx context.Context) (delivery.Verdict, error) {
	waits := false
	defer func() {
		if waits {
			<-s.task.waiting
		}
	}()
	for {
		v, err := s.try(ctx)
		if err != nil || v.State != delivery.Pending || v.Reason == delivery.SendUnconfirmed {
			return v, err
		}
		if !waits {
			select {
			case s.task.waiting <- struct{}{}:
				waits = true
			default:
				return v, fmt.Errorf("%w: %s, and as many wait already as may: %d", executor.ErrHandBack, v.Reason, cap(s.task.waiting))
			}
		}
		if err := s.note(ctx, v, s.unconfirmed); err != nil {
			return v, err
		}
		select {
		case <-time.After(lookEvery):
		case <-s.task.stopping: // nothing was typed: nothing is lost
			return v, fmt.Errorf("%w: %s, and its executor stops", executor.ErrHandBack, v.Reason)
		case <-ctx.Done():
			return v, context.Cause(ctx)
		}
	}
}

// try looks for leader and target, and delivers if both are there and the target takes input.
func (s *submission) try(ctx context.Context) (delivery.Verdict, error) {
	all, err := s.server.Panes(ctx)
	if err != nil {
		return delivery.Verdict{}, tmuxError(ctx, err)
	}
	leader := s.Leader == ""
	if !leader {
		var p tmux.Pane
		p, leader, err = s.find(all, s.Leader)
		if err != nil {
			return delivery.Verdict{}, err
		}
		leader = leader && !p.Dead
	}
	if v, deferred := delivery.Defer(delivery.Beforehand{Leader: leader, Accepting: true, Later: !s.Direct}); deferred {
		return v, nil
	}
	seen := delivery.Observations{Present: s.Target != "", Retry: s.unconfirmed+1 < s.Attempts}
	pane, found, err := s.find(all, s.Target)
	if err != nil {
		return delivery.Verdict{}, err
	}
	if seen.Resolved = found; !found {
		return delivery.Classify(seen), nil
	}
	s.pane, s.serverID = pane.ID, pane.Server
	leave, err := s.task.turns.enter(ctx, pane.Server+pane.ID)
	if err != nil {
		return delivery.Verdict{}, err
	}
	defer leave()
	unlock, err := s.lock(ctx)
	if errors.Is(err, tmux.ErrGone) {
		seen.Why = whyPaneGone
		return delivery.Classify(seen), nil
	}
	if err != nil {
		return delivery.Verdict{}, tmuxError(ctx, err)
	}
	v, err := s.hand(ctx, seen)
	return v, errors.Join(err, unlock())
}

// lock keeps the other executors of this machine from the pane.
func (s *submission) lock(ctx context.Context) (unlock func() error, err error) {
	path, err := s.server.Path(ctx, s.pane)
	if err != nil {
		return nil, err
	}
	return lockPane(ctx, path, s.pane)
}

// find is the pane of a target, if it is there; one that may not be typed into is refused.
func (s *submission) find(all []tmux.Pane, target string) (tmux.Pane, bool, error) {
	p, ok := tmux.Find(all, target)
	if ok && !s.task.panes.may(s.Socket, p.Session) {
		return p, false, refuse(errorTerminalForbidden, "the session %q of the tmux server %q is not in the executor's list of allowed terminals", p.Session, s.Socket)
	}
	return p, ok, nil
}

// end is what a verdict means for the attempt. What is told of it with a heartbeat is there for the next one.
func (s *submission) end(ctx context.Context, v delivery.Verdict) (executor.Answer, error) {
	unconfirmed := 0
	if v.State == delivery.Pending {
		unconfirmed = s.unconfirmed + 1
	}
	if err := s.note(ctx, v, unconfirmed); err != nil {
		return executor.Answer{}, err
	}
	switch {
	case v.State != delivery.Notified:
		return executor.Answer{}, &worker.TaskError{
			Type: string(v.Reason), NonRetryable: v.State == delivery.Failed,
			Message: s.explained(v.Reason),
		}
	case *s.Reply:
		return executor.Watched(placeOf(s).String()), nil
	}
	result, err := json.Marshal(map[string]string{"reason": string(v.Reason), "pane": s.pane})
	return executor.Done(result), err
}

// explained is what a person is told of a delivery that did not succeed.
func (s *submission) explained(reason delivery.Reason) string {
	if reason == delivery.MissingTarget {
		return "params have no target: the pane to type into, as SESSION:WINDOW.PANE"
	}
	if reason == delivery.TargetResolutionFailed+":"+delivery.UnresolvedTarget {
		return fmt.Sprintf("the tmux server %q has no pane %q; tmux list-panes -a shows those that it has", s.Socket, s.Target)
	}
	return fmt.Sprintf("the pane %q of the tmux server %q: delivery %d of %d: %s", s.Target, s.Socket, s.unconfirmed+1, s.Attempts, reason)
}

// tmuxError is a failure of tmux itself, which another attempt may not meet.
func tmuxError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &worker.TaskError{Type: errorTmuxFailed, Message: err.Error()}
}

// pause waits; its error is the cause of the context's end.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
