package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/shared/frames"
)

// report is the next event, which is alone in its frame.
func report[R frames.Report](t *testing.T, p *peer) R {
	t.Helper()
	e := got[*frames.ToServerEvents](t, p).Events
	r, is := e[0].Inner.(R)
	if len(e) != 1 || !is {
		t.Fatalf("got %+v", e)
	}
	return r
}

func TestAFunctionThatSleepsSaysUntilWhen(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		p := run(t, s, nil)
		socket, _ := s.accept(runnerID, -1)
		socket.start(0, "t")
		state(t, socket)
		until := time.Now().Add(time.Hour)
		p.end("t") <- runner.SleepUntil(until)
		if a := report[*frames.SetAlarm](t, socket); a.Token != "t" || *a.At != until.UnixMilli() {
			t.Errorf("the alarm is %+v", a)
		}
		if i := report[*frames.TaskIntent](t, socket); i.Token != "t" || i.Intent != frames.IntentSleep {
			t.Errorf("the intent is %+v", i)
		}
		if _, e := state(t, socket); e.State != frames.StateStopped || e.OK || e.Error.Type != "sleeping" {
			t.Errorf("it ends as %+v, %+v", e, e.Error)
		}
		socket.send(stop(1, "t", frames.StopRequested)) // it has ended
		socket.start(2, "t2")
		if _, e := state(t, socket); e.Token != "t2" || e.State != frames.StateRunning {
			t.Errorf("then it says %+v", e)
		}
	})
}

func TestAFunctionAsksToBeStopped(t *testing.T) {
	within(t, func(t *testing.T, s *server) {
		cause := make(chan error, 1)
		r := asking(t, s, func(ctx context.Context, _ runner.Keys) error {
			err := runner.AskToStop(ctx)
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return err
		})
		socket, _ := s.accept(runnerID, -1)
		socket.start(0, "t")
		state(t, socket)
		if i := report[*frames.TaskIntent](t, socket); i.Token != "t" || i.Intent != frames.IntentStop {
			t.Errorf("the intent is %+v", i)
		}
		socket.send(stop(1, "t", frames.StopRequested))
		if stopped, is := errors.AsType[*runner.StoppedError](<-cause); !is || stopped.Reason != "requested" {
			t.Errorf("its context ends with %v", stopped)
		}
		if err := <-r; err != nil {
			t.Error(err)
		}
		if _, e := state(t, socket); !e.OK {
			t.Errorf("it ends as %+v", e.Error)
		}
	})
	if err := runner.AskToStop(t.Context()); !errors.Is(err, runner.ErrNoAttempt) {
		t.Error(err)
	}
}
