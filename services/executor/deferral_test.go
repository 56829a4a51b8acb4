package executor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/shared/delivery"
)

// deferred runs an attempt until it has told that it is deferred.
func (m *terminal) deferred(s *submission) (ended <-chan submitted) {
	done := make(chan submitted, 1)
	go func() { done <- m.end(m.ctx, s) }()
	m.eventually("it waits", func() bool { return len(s.task.waiting) == 1 })
	return done
}

// DF03: what waits for its leader is delivered within a second of its appearance.
func TestDF03ALeaderThatAppearsIsToldWithinASecond(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	m.shows("agents", "ready")
	s := m.submission(m.handler(), map[string]any{"target": "agents", "leader": "agents-lead", "text": "do it"}, submitNote{})
	done := m.deferred(s)
	if m.took() != "" {
		t.Errorf("the agent took %q before its leader was there", m.took())
	}
	m.tmux("new-session", "-d", "-s", "agents-lead", "cat")
	appeared := time.Now()
	m.eventually("it is delivered", func() bool { return m.took() == "do it\n" })
	if took := time.Since(appeared); took > time.Second {
		t.Errorf("it was delivered after %v", took)
	}
	if got := <-done; !got.later || got.note != (submitNote{Delivery: delivery.Notified, Reason: delivery.SendConfirmed}) {
		t.Errorf("%+v", got)
	}
	if len(s.task.waiting) != 0 {
		t.Error("its place is taken still")
	}
}

// DF02, DF07: an attempt that goes on waiting for the same reason tells nothing again, and its deliveries are not counted.
func TestDF02DF07WhatWaitsTellsOfItOnce(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	s := m.submission(m.handler(), map[string]any{"target": "agents", "leader": "agents-lead", "text": "do it"}, submitNote{})
	done := make(chan error, 1)
	go func() {
		_, err := s.deliver(m.ctx)
		done <- err
	}()
	m.eventually("it waits", func() bool { return len(s.task.waiting) == 1 })
	close(m.stopping) // nothing was typed, so the attempt is handed back
	if err := <-done; !errors.Is(err, executor.ErrHandBack) {
		t.Fatalf("it ended with %v", err)
	}
	want := submitNote{Delivery: delivery.Pending, Reason: delivery.LeaderMissingDeferred}
	if s.told != want {
		t.Fatalf("it told %+v", s.told)
	}
	m.stopping = nil
	again := m.submission(m.handler(), map[string]any{"target": "agents", "leader": "agents-lead", "text": "do it"}, want)
	ticks, stop := context.WithTimeoutCause(t.Context(), 5*lookEvery/2, worker.ErrTimeout)
	defer stop()
	if _, err := again.deliver(ticks); !errors.Is(err, worker.ErrTimeout) {
		t.Fatalf("it ended with %v", err)
	}
	if again.told != want || again.notes != 0 {
		t.Errorf("it told %+v, %d times", again.told, again.notes)
	}
}

// A target that works, or in which somebody reads back, is waited for.
func TestATargetThatIsBusyIsWaitedFor(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, "busy")
	m.shows("agents", "esc to interrupt")
	s := m.submission(m.handler(), map[string]any{"target": "agents", "text": "do it"}, submitNote{})
	done := m.deferred(s)
	m.tmux("copy-mode", "-t", "agents")
	m.freed()
	m.shows("agents", "ready")
	if m.took() != "" {
		t.Errorf("the agent took %q", m.took())
	}
	m.tmux("send-keys", "-t", "agents", "-X", "cancel")
	if got := <-done; !got.later || m.took() != "do it\n" {
		t.Errorf("%+v, the agent took %q", got, m.took())
	}
}

// What waits holds half of the slots at most; what finds no place is handed back.
func TestWhoFindsNoPlaceToWaitIsHandedBack(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	h := m.handler()
	for range cap(h.waiting) {
		h.waiting <- struct{}{}
	}
	s := m.submission(h, map[string]any{"target": "agents", "leader": "agents-lead", "text": "do it"}, submitNote{})
	if _, err := s.deliver(m.ctx); !errors.Is(err, executor.ErrHandBack) {
		t.Errorf("it ended with %v", err)
	}
	if cap(h.waiting) != 2 || len(h.waiting) != 2 {
		t.Errorf("%d of %d places are taken", len(h.waiting), cap(h.waiting))
	}
}
