package conformance_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/internal/conformance"
	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
)

const (
	flaw     = "HEDDLE_TEST_FLAW"
	flawOnce = "HEDDLE_TEST_FLAW_ONCE" // a file that is gone once an exception has been taken for a result; without one all are
)

// The test's own binary is a client with a flaw, too.
func TestMain(m *testing.M) {
	if f := os.Getenv(flaw); f != "" {
		os.Exit(flawed(f))
	}
	os.Exit(m.Run())
}

// flaws are what a client may do wrong, with the case that notices it.
var flaws = map[string]string{
	"it never pings":                      "P01",
	"it reconnects without a delay":       "L11",
	"its attempts get no time to end":     "D01",
	"it takes an exception for a result":  "R05",
	"it loses a part of the input":        "M01",
	"it reports results as those of none": "E10",
	"it asks for keys for ever":           "K02",
	"it loses a message of a WebSocket":   "T02",
}

// flawed is a client with a flaw, or without one.
func flawed(f string) int {
	o := runner.Options{Slots: 16, Times: runner.Times{}.Scaled(0.01)}
	switch f {
	case "it never pings":
		o.Times.Ping = time.Hour
	case "it reconnects without a delay":
		o.Times.FirstReconnect, o.Times.LastReconnect = time.Millisecond, time.Millisecond
	case "its attempts get no time to end":
		o.Times.Drain = time.Millisecond
	case "it asks for keys for ever":
		o.Times.KV = 3 * time.Second
	case "it takes an exception for a result":
		o.Interceptors = append(o.Interceptors, recovering)
	case "it reports results as those of none":
		o.Interceptors = append(o.Interceptors, forgetting)
	}
	r, err := runner.New(o)
	if err != nil {
		return 2
	}
	runner.Handle(r, task.Define[json.RawMessage, json.RawMessage]("conformance.echo"), func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		if f == "it loses a part of the input" {
			in = json.RawMessage(strings.ReplaceAll(string(in), "2.5", "2"))
		}
		return in, nil
	})
	runner.Handle(r, task.Define[int64, string]("conformance.sleep"), func(ctx context.Context, ms int64) (string, error) {
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
			return "slept", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	runner.Handle(r, task.Define[any, string]("conformance.crash"), func(context.Context, any) (string, error) { panic("nobody expects this") })
	runner.Handle(r, task.Define[any, string]("conformance.keys"), func(ctx context.Context, _ any) (string, error) {
		if err := runner.KeysOf(ctx).Put(ctx, runner.Entry{Key: "a", Value: json.RawMessage("1")}); err != nil {
			return "", &task.Error{Type: "timeout", Err: err}
		}
		return "", nil
	})
	runner.Handle(r, task.Define[int64, string]("conformance.serve"), func(ctx context.Context, ms int64) (string, error) {
		if err := runner.Serve(ctx, echoing(f)); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if r.Run(ctx) != nil {
		return 1
	}
	return 0
}

// echoing says again what it is told, with a flaw all but one message.
func echoing(f string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"talk"}})
		if err != nil {
			return // it has been answered
		}
		defer func() { _ = conn.CloseNow() }() // it is closed, as a rule
		for {
			kind, b, err := conn.Read(r.Context())
			if err == nil && (f != "it loses a message of a WebSocket" || string(b) != "142") {
				err = conn.Write(r.Context(), kind, b)
			}
			if err != nil {
				return
			}
		}
	})
}

func recovering(next runner.Handler) runner.Handler {
	return func(ctx context.Context, in json.RawMessage) (out json.RawMessage, err error) {
		defer func() {
			r := recover()
			if once := os.Getenv(flawOnce); r != nil && once != "" && os.Remove(once) != nil {
				panic(r)
			}
			if r != nil {
				out, err = nil, nil
			}
		}()
		return next(ctx, in)
	}
}

func forgetting(next runner.Handler) runner.Handler {
	return func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		_, err := next(ctx, in)
		return nil, err
	}
}

// A client that does one thing wrong does not pass the case that is about it, and one that does not passes it.
func TestEachFlawIsNoticed(t *testing.T) {
	for f, name := range flaws {
		for _, is := range []string{f, "none"} {
			t.Run(name+" "+is, func(t *testing.T) {
				t.Parallel()
				told := 0
				err := conformance.Run(t.Context(), conformance.Options{
					Command: []string{os.Args[0]}, Env: []string{flaw + "=" + is}, Scale: 0.01, Only: []string{name},
				}, func(r conformance.Result) {
					told++
					if (r.Failure != "") != (is == f) || r.Name != name {
						t.Errorf("%s: %q\n%s", r.Name, r.Failure, r.Output)
					}
				})
				if err != nil || told != 1 {
					t.Errorf("told %d times, %v", told, err)
				}
			})
		}
	}
}

func TestAClientThatCannotBeTriedIsAFailure(t *testing.T) {
	var failures []string
	err := conformance.Run(t.Context(), conformance.Options{Command: []string{"/nowhere/client"}, Only: []string{"C01", "D01"}}, func(r conformance.Result) {
		failures = append(failures, r.Failure)
	})
	if err != nil || len(failures) != 2 || !strings.Contains(failures[0], "does not start") {
		t.Errorf("%q, %v", failures, err)
	}
	for name, o := range map[string]conformance.Options{
		"no command": {}, "an unknown case": {Command: []string{"x"}, Only: []string{"Z99"}}, "a scale of 2": {Command: []string{"x"}, Scale: 2},
	} {
		if conformance.Run(t.Context(), o, func(conformance.Result) {}) == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestTheTasksOfAClientHaveNames(t *testing.T) {
	names := make([]string, len(conformance.Tasks))
	for i, task := range conformance.Tasks {
		if names[i] = task.Name; task.About == "" {
			t.Errorf("nobody says what %s does", task.Name)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(conformance.Tasks) {
		t.Errorf("a name comes twice: %q", names)
	}
}

// docs/runner-clients.md has each task, each variable, and the number of cases.
func TestTheContractIsDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/runner-clients.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, task := range conformance.Tasks {
		if row := "| `" + task.Name + "` | " + task.About + " |\n"; !strings.Contains(text, row) {
			t.Errorf("docs/runner-clients.md lacks %q", row)
		}
	}
	for _, name := range []string{
		conformance.EnvURL, conformance.EnvPool, conformance.EnvKey, conformance.EnvToken, conformance.EnvEncoding, conformance.EnvScale,
		"the client passes all " + strconv.Itoa(len(conformance.Cases())) + " cases",
		"the deployment passes all " + strconv.Itoa(len(conformance.ServerCases())-1) + " cases", // without a token
	} {
		if !strings.Contains(text, name) {
			t.Errorf("docs/runner-clients.md lacks %s", name)
		}
	}
}

// A case that fails among others is played again by itself, and that counts.
func TestACaseThatFailsAmongOthersIsPlayedByItself(t *testing.T) {
	for _, passes := range []bool{true, false} {
		env := []string{flaw + "=it takes an exception for a result"}
		if passes {
			once := filepath.Join(t.TempDir(), "once")
			if err := os.WriteFile(once, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			env = append(env, flawOnce+"="+once)
		}
		var told []string
		err := conformance.Run(t.Context(), conformance.Options{
			Command: []string{os.Args[0]}, Env: env, Scale: 0.01, Only: []string{"M01", "R05"},
		}, func(r conformance.Result) {
			told = append(told, r.Name)
			if (r.Failure == "") != (passes || r.Name == "M01") || (r.Among == "") != (r.Name == "M01") {
				t.Errorf("passes: %t: %+v", passes, r)
			}
		})
		if want := []string{"M01", "R05"}; !slices.Equal(told, want) || err != nil {
			t.Errorf("told of %q, %v, want %q", told, err, want)
		}
	}
}
