package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// asks are the occasions at which a handler may first look at its context.
var asks = map[string]func(*life){
	"asked":     func(l *life) { l.Done() },
	"not asked": func(*life) {},
}

func TestAContextEndsAloneOrIsEnded(t *testing.T) {
	errLater := errors.New("later")
	for _, c := range []struct {
		name  string
		end   time.Duration // zero: no deadline
		do    func(*life)
		err   error
		cause error
	}{
		{"runs", time.Hour, func(*life) {}, nil, nil},
		{"runs without end", 0, func(*life) { time.Sleep(time.Hour) }, nil, nil},
		{"its time is over", time.Second, func(*life) { time.Sleep(time.Second) }, context.DeadlineExceeded, ErrTimeout},
		{"stopped", time.Hour, func(l *life) { l.stop(ErrCancelled) }, context.Canceled, ErrCancelled},
		{"stopped, then its time is over", time.Second, func(l *life) { l.stop(ErrCancelled); time.Sleep(time.Minute) }, context.Canceled, ErrCancelled},
		{"its time is over, then stopped", time.Second, func(l *life) { time.Sleep(time.Minute); l.stop(ErrCancelled) }, context.DeadlineExceeded, ErrTimeout},
		{"stopped twice", time.Hour, func(l *life) { l.stop(ErrCancelled); l.stop(errLater) }, context.Canceled, ErrCancelled},
		{"left", time.Hour, func(l *life) { l.leave() }, context.Canceled, context.Canceled},
		{"left, then its time is over", time.Second, func(l *life) { l.leave(); time.Sleep(time.Minute) }, context.Canceled, context.Canceled},
		{"left, then stopped", 0, func(l *life) { l.leave(); l.stop(errLater) }, context.Canceled, context.Canceled},
	} {
		for when, ask := range asks {
			t.Run(c.name+", "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var l life
					var end time.Time
					if c.end > 0 {
						end = time.Now().Add(c.end)
					}
					l.begin(context.Background(), end)
					defer l.leave()
					ask(&l)
					c.do(&l)
					synctest.Wait()
					if ended := l.ended(time.Now()); ended != (c.err != nil) {
						t.Errorf("ended is %v", ended)
					}
					holds(t, &l, end, c.err, c.cause)
				})
			})
		}
	}
}

// holds checks what a context promises to those who use it.
func holds(t *testing.T, l *life, end time.Time, want, cause error) {
	t.Helper()
	child, cancel := context.WithCancel(l)
	defer cancel()
	called := make(chan struct{})
	defer context.AfterFunc(l, func() { close(called) })()
	synctest.Wait()
	for name, ctx := range map[string]context.Context{"context": l, "child": child} {
		if !errors.Is(ctx.Err(), want) || !errors.Is(context.Cause(ctx), cause) {
			t.Errorf("%s: %v because of %v, want %v because of %v", name, ctx.Err(), context.Cause(ctx), want, cause)
		}
		if closed(ctx.Done()) != (want != nil) {
			t.Errorf("%s: Done is closed: %v", name, closed(ctx.Done()))
		}
	}
	if closed(called) != (want != nil) {
		t.Errorf("AfterFunc was called: %v", closed(called))
	}
	if at, ok := l.Deadline(); ok == end.IsZero() || !at.Equal(end) {
		t.Errorf("the deadline is %v, %v; want %v", at, ok, end)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestWaitersHearOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var l life
		l.begin(context.WithValue(context.Background(), key{}, "base"), time.Now().Add(time.Minute))
		if l.Value(key{}) != "base" {
			t.Errorf("the base's value is %v", l.Value(key{}))
		}
		child, cancel := context.WithTimeout(&l, time.Hour)
		defer cancel()
		var cause error
		context.AfterFunc(child, func() { cause = context.Cause(&l) })
		began := time.Now()
		<-child.Done()
		synctest.Wait()
		if took := time.Since(began); took != time.Minute || !errors.Is(cause, ErrTimeout) {
			t.Errorf("the child ended after %v because of %v", took, cause)
		}
		l.leave()
	})
}

func TestAContextThatNobodyLooksAtIsNotMade(t *testing.T) {
	var l life
	now := time.Now()
	l.begin(context.Background(), now.Add(time.Hour))
	if l.ended(now) {
		t.Error("it has ended")
	}
	l.leave()
	if l.made != nil {
		t.Error("it was made")
	}
}

// A child that needs a goroutine to hear of its parent's end would be left over
// in the bubble, which fails the test.
func TestAChildNeedsNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l life
		l.begin(context.Background(), time.Time{})
		child, cancel := context.WithCancel(&l)
		_ = cancel // on purpose: neither ends
		if child.Err() != nil {
			t.Error(child.Err())
		}
	})
}
