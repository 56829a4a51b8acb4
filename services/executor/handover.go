package executor

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/heddle-run/heddle/services/executor/tmux"
	"github.com/heddle-run/heddle/shared/delivery"
)

const (
	// confirmRounds are how often a pane is looked at, lookEvery, before a delivery is unconfirmed.
	confirmRounds = 3
	// A pane gets so many looks to show what was typed before Enter is pressed: programs
	// take an Enter that follows at once for a part of a paste.
	settleRounds = 10
	settleEvery  = 25 * time.Millisecond
)

// What was seen that is not the usual.
const (
	whyPaneDead = "pane_dead"
	whyPaneGone = "pane_gone"
)

// hand hands the work over to the pane. The caller has its turn.
func (s *submission) hand(ctx context.Context, seen delivery.Observations) (delivery.Verdict, error) {
	before, err := s.server.Look(ctx, s.pane)
	switch {
	case errors.Is(err, tmux.ErrGone):
		seen.Why = whyPaneGone
	case err != nil:
		return delivery.Verdict{}, tmuxError(ctx, err)
	case before.Dead:
		seen.Why = whyPaneDead
	case !s.accepts(&before):
		if v, deferred := delivery.Defer(delivery.Beforehand{Leader: true, Later: !s.Direct}); deferred {
			return v, nil
		}
	default:
		seen.Preflight = true
	}
	if !seen.Preflight {
		return delivery.Classify(seen), nil
	}
	typed, err := s.send(context.WithoutCancel(ctx)) // it takes a moment, and half of a text could not be taken back
	if errors.Is(err, tmux.ErrGone) {
		seen.Why = whyPaneGone
		return delivery.Classify(seen), nil
	}
	if err != nil {
		return delivery.Verdict{}, tmuxError(ctx, err)
	}
	seen.Send = true
	if seen.Confirmed, seen.Active, err = s.submit(ctx, typed); err != nil {
		return delivery.Verdict{}, s.givenUp(ctx, tmuxError(ctx, err))
	}
	return delivery.Classify(seen), nil
}

// accepts reports whether a pane takes input: nobody reads back in it, it does not work, and it shows what it
// shows then, where that is known.
func (s *submission) accepts(now *tmux.Screen) bool {
	text := now.Text()
	return !now.InMode && !s.active.MatchString(text) && (s.ready == nil || s.ready.MatchString(text))
}

// send types the text, and is what the pane shows then.
func (s *submission) send(ctx context.Context) (typed tmux.Screen, err error) {
	if err := s.server.Type(ctx, s.pane, s.text); err != nil {
		return typed, err
	}
	for range settleRounds {
		if err := pause(ctx, settleEvery); err != nil {
			return typed, err
		}
		if typed, err = s.server.Look(ctx, s.pane); err != nil || typed.Ends(s.text) {
			return typed, err
		}
	}
	return typed, nil
}

// submit presses Enter by the policy, and looks whether the pane has taken what was typed. What was not taken
// and stands in the prompt still is taken back, so that it does not stand there twice.
func (s *submission) submit(ctx context.Context, typed tmux.Screen) (confirmed, active bool, err error) {
	var now tmux.Screen
	for i := range s.presses + confirmRounds {
		if i > 0 {
			if err := pause(ctx, s.until(i)); err != nil {
				return false, false, err
			}
			if now, err = s.server.Look(ctx, s.pane); err != nil {
				return false, false, unlessGone(err)
			}
			if confirmed, active = s.confirmed(&typed, &now); confirmed {
				return confirmed, active, nil
			}
		}
		if i < s.presses {
			if err := s.server.Enter(ctx, s.pane); err != nil {
				return false, false, unlessGone(err)
			}
		}
	}
	return false, false, s.takeBack(ctx, &now)
}

// takeBack erases the text where it stands in the prompt still.
func (s *submission) takeBack(ctx context.Context, now *tmux.Screen) error {
	if !now.Ends(s.text) {
		return nil
	}
	return unlessGone(s.server.Erase(ctx, s.pane, utf8.RuneCountInString(s.text)))
}

// givenUp takes the text back for an attempt that has ended before its delivery, as by a cancellation: the Enter of
// another workflow's attempt would submit it together with what that one types. It returns why it was given up.
func (s *submission) givenUp(ctx context.Context, why error) error {
	if ctx.Err() == nil {
		return why
	}
	ctx = context.WithoutCancel(ctx)
	now, err := s.server.Look(ctx, s.pane)
	if err == nil {
		err = s.takeBack(ctx, &now)
	}
	if err = unlessGone(err); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// until is the wait before look i, from 1: between the presses it is shorter.
func (s *submission) until(i int) time.Duration {
	if i < s.presses {
		return delivery.PressPause
	}
	return lookEvery
}

// unlessGone is an error, but for one of a pane that has gone: that one confirms nothing any more.
func unlessGone(err error) error {
	if errors.Is(err, tmux.ErrGone) {
		return nil
	}
	return err
}

// confirmed compares what the pane showed when the text was typed with what it shows now. It works: that is new.
// Or it shows once more what says that it has taken input. Where that is not known, the text has stood before the
// cursor, and does so no more; an Enter that was only echoed changes nothing of that.
func (s *submission) confirmed(typed, now *tmux.Screen) (confirmed, active bool) {
	before, text := typed.Text(), now.Text()
	switch {
	case now.Dead:
		return false, false
	case s.active.MatchString(text) && !s.active.MatchString(before):
		return true, true
	case s.confirm != nil:
		return len(s.confirm.FindAllStringIndex(text, -1)) > len(s.confirm.FindAllStringIndex(before, -1)), false
	}
	return typed.Ends(s.text) && now.Cursor && !now.Ends(s.text), false
}
