// Runner offers the slots of its process to a pool: `heddle conformance runner` tries it. All that it knows comes out
// of the environment.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
)

// The tasks by which a client is tried; docs/runner-clients.md says what each does.
var (
	echoTask     = task.Define[json.RawMessage, json.RawMessage]("conformance.echo")
	sleepTask    = task.Define[int64, string]("conformance.sleep")
	stubbornTask = task.Define[int64, string]("conformance.stubborn")
	failTask     = task.Define[Failure, string]("conformance.fail")
	crashTask    = task.Define[any, string]("conformance.crash")
	beatTask     = task.Define[[]json.RawMessage, string]("conformance.beat")
	serveTask    = task.Define[int64, string]("conformance.serve")
	keysTask     = task.Define[any, json.RawMessage]("conformance.keys")
	parkTask     = task.Define[int64, any]("conformance.park")
	resignTask   = task.Define[any, string]("conformance.resign")
)

// Failure is what Fail fails with.
type Failure struct {
	Type      string          `json:"type"`
	Message   string          `json:"message"`
	Retryable bool            `json:"retryable"`
	Details   json.RawMessage `json:"details"`
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// run runs until SIGTERM, and drains; SIGINT closes at once.
func run() error {
	times := runner.Times{}
	if text := os.Getenv("HEDDLE_RUNNER_SCALE"); text != "" {
		scale, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		times = times.Scaled(scale)
	}
	r, err := runner.New(runner.Options{Slots: 16, Binary: os.Getenv("HEDDLE_RUNNER_ENCODING") == "binary", Times: times})
	if err != nil {
		return err
	}
	serve(r)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	now := make(chan os.Signal, 1)
	signal.Notify(now, os.Interrupt)
	go func() {
		<-now
		r.StopNow()
	}()
	return r.Run(ctx)
}

func serve(r *runner.Runner) {
	runner.Handle(r, echoTask, func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
	runner.Handle(r, sleepTask, sleep)
	runner.Handle(r, stubbornTask, func(ctx context.Context, ms int64) (string, error) { return sleep(context.WithoutCancel(ctx), ms) })
	runner.Handle(r, failTask, func(_ context.Context, f Failure) (string, error) {
		return "", &task.Error{Type: f.Type, Message: f.Message, NonRetryable: !f.Retryable, Details: f.Details}
	})
	runner.Handle(r, crashTask, func(context.Context, any) (string, error) { panic("nobody expects this") })
	runner.Handle(r, beatTask, beat)
	runner.Handle(r, keysTask, keep)
	runner.Handle(r, serveTask, answer)
	runner.Handle(r, parkTask, func(_ context.Context, ms int64) (any, error) { return nil, runner.SleepUntil(time.UnixMilli(ms)) })
	runner.Handle(r, resignTask, resign)
}

// resign asks to be stopped, and waits for it.
func resign(ctx context.Context, _ any) (string, error) {
	if err := runner.AskToStop(ctx); err != nil {
		return "", err
	}
	<-ctx.Done()
	if stopped, ok := errors.AsType[*runner.StoppedError](context.Cause(ctx)); ok {
		return stopped.Reason, nil
	}
	return "", context.Cause(ctx)
}

func sleep(ctx context.Context, ms int64) (string, error) {
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return "slept", nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func beat(ctx context.Context, all []json.RawMessage) (string, error) {
	for _, details := range all {
		if err := task.Heartbeat(ctx, details); err != nil {
			return "", err
		}
	}
	return "", errors.New("no more")
}

// keep keeps a value at the server and reads it again.
func keep(ctx context.Context, _ any) (json.RawMessage, error) {
	keys := runner.KeysOf(ctx)
	if err := keys.Put(ctx, runner.Entry{Key: "a", Value: json.RawMessage("1")}); err != nil {
		return nil, why(err)
	}
	found, err := keys.Get(ctx, "a", "b")
	if err != nil {
		return nil, why(err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found[0].Value, nil
}

// why says by the type of an error what has become of a request.
func why(err error) error {
	refused, ok := errors.AsType[*runner.KeysError](err)
	switch {
	case errors.Is(err, runner.ErrTimeout):
		return &task.Error{Type: "timeout", Err: err}
	case errors.Is(err, runner.ErrUnknown):
		return &task.Error{Type: "unknown", Err: err}
	case ok:
		return &task.Error{Type: refused.Code, Err: err}
	}
	return err
}
