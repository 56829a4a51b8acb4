package dev

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// steady is a service that works until it is told to stop.
func steady(ctx context.Context, ready func()) error {
	ready()
	<-ctx.Done()
	return nil
}

func TestAUnitIsStartedAgain(t *testing.T) {
	runs := 0
	u := &unit{name: "x", run: func(ctx context.Context, ready func()) error {
		runs++
		return steady(ctx, ready)
	}}
	for range 2 {
		if err := u.start(t.Context(), func(err error) { t.Errorf("it ended: %v", err) }); err != nil {
			t.Fatal(err)
		}
		if err := u.stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.stop(); err != nil || runs != 2 {
		t.Fatalf("%d runs, %v; want 2, and stopping what is stopped is no error", runs, err)
	}
}

func TestAUnitThatCannotStartSaysWhy(t *testing.T) {
	boom := errors.New("boom")
	u := &unit{name: "x", run: func(context.Context, func()) error { return boom }}
	if err := u.start(t.Context(), func(error) {}); !errors.Is(err, boom) || !strings.Contains(err.Error(), "starting the x") {
		t.Fatalf("got %v", err)
	}
	if err := u.stop(); err != nil {
		t.Errorf("its stop tells again: %v", err)
	}
}

func TestTheEndOfAUnitIsTold(t *testing.T) {
	told := make(chan error, 1)
	end := make(chan struct{})
	u := &unit{name: "x", run: func(_ context.Context, ready func()) error {
		ready()
		<-end
		return nil
	}}
	if err := u.start(t.Context(), func(err error) { told <- err }); err != nil {
		t.Fatal(err)
	}
	close(end)
	if err := <-told; !errors.Is(err, ErrEnded) {
		t.Fatalf("told %v, want ErrEnded", err)
	}
	if err := u.stop(); err != nil {
		t.Fatalf("stopping what has ended: %v", err)
	}
}

func TestTheEndOfAUnitThatIsKilledIsExpected(t *testing.T) {
	end := make(chan struct{})
	u := &unit{name: "x", run: func(_ context.Context, ready func()) error {
		ready()
		<-end
		return errors.New("killed")
	}}
	if err := u.start(t.Context(), func(err error) { t.Errorf("told %v", err) }); err != nil {
		t.Fatal(err)
	}
	if err := u.kill(func() error { close(end); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := u.kill(func() error { return nil }); err == nil {
		t.Fatal("it was killed twice")
	}
}

func TestAUnitThatCannotBeKilledIsStopped(t *testing.T) {
	boom := errors.New("boom")
	u := &unit{name: "x", run: steady}
	if err := u.start(t.Context(), func(err error) { t.Errorf("told %v", err) }); err != nil {
		t.Fatal(err)
	}
	if err := u.kill(func() error { return boom }); !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	if err := u.stop(); err != nil {
		t.Fatal(err)
	}
}

func TestAStartThatIsGivenUpLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	gone := false
	u := &unit{name: "x", run: func(ctx context.Context, _ func()) error {
		cancel()
		<-ctx.Done()
		gone = true
		return ctx.Err()
	}}
	if err := u.start(ctx, func(error) {}); !errors.Is(err, context.Canceled) || !gone {
		t.Fatalf("got %v, gone %v", err, gone)
	}
}
