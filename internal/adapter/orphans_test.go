package adapter

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/sdk/executor"
)

// system cancels works, unless it is away or a work is stubborn.
type system struct {
	mu       sync.Mutex
	away     bool
	stubborn string // a key
	tried    int
	ended    []string
}

func (s *system) cancel(ref executor.Ref) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried++; s.away || ref.Key == s.stubborn {
		return errors.New("not now")
	}
	s.ended = append(s.ended, ref.Key)
	return nil
}

func (s *system) returns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = false
}

func (s *system) seen() (tried int, ended []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried, slices.Clone(s.ended)
}

func tellOf(o *orphans, keys ...string) {
	for _, k := range keys {
		o.add(orphan{ref: executor.Ref{Key: k}, since: time.Now()})
	}
}

func inOrphanage(t *testing.T, s *system, limit int, do func(o *orphans, stop func()), logged ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		stopping := make(chan struct{})
		o := &orphans{cancel: s.cancel, stopping: stopping, log: slog.New(slog.NewTextHandler(&log, nil)), limit: limit}
		stop := sync.OnceFunc(func() { close(stopping) })
		do(o, stop)
		stop()
		synctest.Wait()
		if o.busy {
			t.Error("an executor that stops goes on cancelling")
		}
		for _, want := range logged {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not have %q:\n%s", want, &log)
			}
		}
	})
}

// A system that is away for as long as it likes, up to six hours, keeps no work from being cancelled, each once.
func TestCancellationsOutliveASystemThatIsAway(t *testing.T) {
	for _, away := range []time.Duration{70 * time.Second, 5 * time.Hour} {
		s := &system{away: true}
		inOrphanage(t, s, orphansMax, func(o *orphans, _ func()) {
			var want []string
			for i := range 10 {
				want = append(want, fmt.Sprint("work ", i))
			}
			tellOf(o, want...)
			tellOf(o, want[1:]...)
			time.Sleep(away)
			s.returns()
			time.Sleep(30 * time.Second)
			tried, ended := s.seen()
			if slices.Sort(ended); !slices.Equal(ended, want) {
				t.Errorf("away for %v: cancelled are %q", away, ended)
			}
			if most := int(away/orphansPause) + 20; tried > most {
				t.Errorf("away for %v: it is asked %d times, %d at most", away, tried, most)
			}
		})
	}
}

// What cannot be cancelled keeps nothing else waiting, and is given up after six hours.
func TestAStubbornWorkIsGivenUpInTheEnd(t *testing.T) {
	s := &system{stubborn: "stubborn"}
	inOrphanage(t, s, orphansMax, func(o *orphans, _ func()) {
		tellOf(o, "stubborn", "a", "b")
		time.Sleep(time.Second)
		if _, ended := s.seen(); !slices.Equal(ended, []string{"a", "b"}) {
			t.Errorf("cancelled are %q", ended)
		}
		time.Sleep(orphansFor)
		before, _ := s.seen()
		time.Sleep(orphansFor)
		if after, _ := s.seen(); after != before || before < 1000 {
			t.Errorf("it was tried %d times, and %d times behind its end", before, after-before)
		}
	}, "a work is not cancelled and goes on", "work=stubborn")
}

// There are never more than the limit, and what is given up for that is told of.
func TestCancellationsAreBounded(t *testing.T) {
	s := &system{away: true}
	inOrphanage(t, s, 2, func(o *orphans, stop func()) {
		tellOf(o, "first")
		synctest.Wait() // it was tried, and waits
		tellOf(o, "second", "third")
		stop()
	}, "more works wait to be cancelled than are kept", "work=first", "works=2")
}
