package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
)

type Image struct {
	URL   string `json:"url"`
	Width int    `json:"width"`
}

// Resize is shared by the runner, flows and tests.
var Resize = task.Define[Image, string]("images.resize")

func resize(_ context.Context, i Image) (string, error) {
	return fmt.Sprintf("%s at %d", i.URL, i.Width), nil
}

func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r, err := runner.New(runner.Options{URL: "https://heddle.example", Pool: "images", Key: "node-7", Slots: 4})
	if err != nil {
		log.Fatal(err)
	}
	runner.Handle(r, Resize, resize)
	if err := r.Run(ctx); err != nil { // until a signal comes; then it drains
		log.Fatal(err)
	}
}

func ExampleNew() {
	_, err := runner.New(runner.Options{URL: "ftp://heddle.example", Pool: "images"})
	fmt.Println(err)
	// Output: runner: Options.URL is "ftp://heddle.example", want http, https, ws or wss
}

func ExampleHandle() {
	r, err := runner.New(runner.Options{URL: "wss://heddle.example", Pool: "images"})
	if err != nil {
		log.Fatal(err)
	}
	runner.Handle(r, Resize, resize)
	runner.Handle(r, Resize, resize) // Run says so
	fmt.Println(r.Run(context.Background()))
	// Output: runner: the task images.resize is registered twice
}

func ExampleRunner_Run() {
	r, err := runner.New(runner.Options{
		Pool: "images", // the URL is that of HEDDLE_RUNNER_URL, or of a running `heddle dev`
		OnConnected: func(id string) {
			fmt.Println("connected as", id)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	runner.Handle(r, Resize, resize)
	switch err := r.Run(context.Background()); {
	case errors.Is(err, runner.ErrEvicted):
		fmt.Println("another process has taken over")
	case err != nil:
		log.Fatal(err)
	}
}

func ExampleRunner_StopNow() {
	r, err := runner.New(runner.Options{URL: "https://heddle.example", Pool: "images"})
	if err != nil {
		log.Fatal(err)
	}
	runner.Handle(r, Resize, resize)
	r.StopNow()
	fmt.Println(r.Run(context.Background()))
	// Output: <nil>
}

func ExampleTimes_Scaled() {
	fmt.Println(runner.Times{Ping: 2 * time.Second}.Scaled(0.01).Ping, runner.Times{}.Scaled(0.01).LastReconnect)
	// Output: 20ms 300ms
}

// A function that goes on where an earlier attempt has stopped.
func ExampleKeysOf() {
	resizeAll := func(ctx context.Context, all []Image) (int, error) {
		keys, done := runner.KeysOf(ctx), 0
		if at, err := keys.Get(ctx, "done"); err != nil {
			return 0, err
		} else if len(at) > 0 {
			if err := json.Unmarshal(at[0].Value, &done); err != nil {
				return 0, err
			}
		}
		for ; done < len(all); done++ {
			if _, err := resize(ctx, all[done]); err != nil {
				return done, err
			}
			if err := keys.Put(ctx, runner.Entry{Key: "done", Value: json.RawMessage(fmt.Sprint(done + 1))}); err != nil {
				return done, err
			}
		}
		return done, nil
	}
	_, err := resizeAll(context.Background(), nil)
	fmt.Println(err)
	// Output: only the context of a task's function that a runner has called has keys
}

// A function that looks again and again whether something is there, and holds no slot meanwhile.
func ExampleSleepUntil() {
	await := func(ctx context.Context, i Image) (string, error) {
		if _, err := resize(ctx, i); err != nil {
			return "", runner.SleepUntil(time.Now().Add(time.Hour)) // another attempt looks again
		}
		return i.URL, nil
	}
	fmt.Println(await(context.Background(), Image{URL: "a.png"}))
	// Output: a.png <nil>
}

// A function that has itself stopped.
func ExampleAskToStop() {
	serve := func(ctx context.Context, _ Image) (string, error) {
		if err := runner.AskToStop(ctx); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "stopped", nil
	}
	_, err := serve(context.Background(), Image{})
	fmt.Println(err)
	// Output: only the context of a task's function that a runner has called has an attempt
}

func ExampleLeaving() {
	long := func(ctx context.Context, all []Image) (int, error) {
		for i, image := range all {
			select {
			case <-runner.Leaving(ctx):
				return i, errors.New("another attempt goes on")
			default:
			}
			if _, err := resize(ctx, image); err != nil {
				return i, err
			}
			if err := task.Heartbeat(ctx, i+1); err != nil { // where that begins
				return i, err
			}
		}
		return len(all), nil
	}
	fmt.Println(long(context.Background(), []Image{{URL: "a", Width: 1}}))
	// Output: 1 <nil>
}

func ExampleKeys_Get() {
	visit := func(ctx context.Context, _ Image) (int, error) {
		found, err := runner.KeysOf(ctx).Get(ctx, "width", "height")
		return len(found), err // those that have a value
	}
	runner.Handle(some(), task.Define[Image, int]("images.visit"), visit)
}

func ExampleKeys_List() {
	newest := func(ctx context.Context, _ Image) (string, error) {
		found, err := runner.KeysOf(ctx).List(ctx, runner.ListOptions{Prefix: "page/", Reverse: true, Limit: 1})
		if err != nil || len(found) == 0 {
			return "", err
		}
		return found[0].Key, nil
	}
	runner.Handle(some(), task.Define[Image, string]("images.newest"), newest)
}

func ExampleKeys_Put() {
	keep := func(ctx context.Context, i Image) (bool, error) {
		return true, runner.KeysOf(ctx).Put(ctx,
			runner.Entry{Key: "url", Value: json.RawMessage(fmt.Sprintf("%q", i.URL))},
			runner.Entry{Key: "width", Value: json.RawMessage(fmt.Sprint(i.Width))})
	}
	runner.Handle(some(), task.Define[Image, bool]("images.keep"), keep)
}

func ExampleKeys_Delete() {
	forget := func(ctx context.Context, _ Image) (bool, error) {
		err := runner.KeysOf(ctx).Delete(ctx, "url", "width")
		if refused, ok := errors.AsType[*runner.KeysError](err); ok {
			return false, fmt.Errorf("the server refuses: %s", refused.Code)
		}
		return err == nil, err
	}
	runner.Handle(some(), task.Define[Image, bool]("images.forget"), forget)
}

// A task that can be looked at while it runs, under /v1/workflows/WORKFLOW/tasks/TOKEN/tunnel/progress.
func ExampleServe() {
	train := func(ctx context.Context, rounds int64) (int64, error) {
		var done atomic.Int64
		mux := http.NewServeMux()
		mux.HandleFunc("GET /progress", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%d of %d\n", done.Load(), rounds) })
		if err := runner.Serve(ctx, mux); err != nil {
			return 0, err
		}
		for done.Load() < rounds && ctx.Err() == nil {
			done.Add(1)
		}
		return done.Load(), context.Cause(ctx)
	}
	runner.Handle(some(), task.Define[int64, int64]("models.train"), train)
}

// some is a runner of the examples.
func some() *runner.Runner {
	r, err := runner.New(runner.Options{URL: "https://heddle.example", Pool: "images"})
	if err != nil {
		log.Fatal(err)
	}
	return r
}
