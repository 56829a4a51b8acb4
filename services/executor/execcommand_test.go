package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
)

const shell = "/bin/sh"

func newCommand(t *testing.T, c Commands) *execCommand {
	t.Helper()
	h, err := newExecCommand(&Config{Commands: c, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// runShell runs a script with more parameters.
func runShell(ctx context.Context, t *testing.T, h *execCommand, script string, more map[string]any) (json.RawMessage, error) {
	t.Helper()
	params := map[string]any{"command": []string{shell, "-c", script}}
	for name, value := range more {
		params[name] = value
	}
	input, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return h.Run(ctx, attempt("exec.command", string(input)))
}

func TestCommandsBecomeResults(t *testing.T) {
	h := newCommand(t, Commands{Allow: []string{shell}, MaxOutput: 16})
	for _, c := range []struct {
		script string
		more   map[string]any
		want   string // a result, or the error's type
		again  bool
	}{
		{"printf out; printf err >&2", nil, `{"exit_code":0,"stderr":"err","stdout":"out"}`, false},
		{"cat", map[string]any{"stdin": "a text"}, `{"exit_code":0,"stderr":"","stdout":"a text"}`, false},
		{"cat", map[string]any{"stdin": map[string]int{"n": 1}, "json": true}, `{"exit_code":0,"stderr":"","stdout":{"n":1}}`, false},
		{"cat", map[string]any{"stdin": nil}, `{"exit_code":0,"stderr":"","stdout":""}`, false},
		{"printf ' 7\n'", map[string]any{"json": true, "map": "input.stdout + 1"}, `8`, false},
		{"exit 3", map[string]any{"expect": []int{0, 3}, "map": "input.exit_code"}, `3`, false},
		{"exit 3", nil, "exit_status", true},
		{"exit 0", map[string]any{"expect": []int{3}}, "exit_status", true},
		{"kill -9 $$", nil, "exit_status", true},
		{"printf 1234567890123456", map[string]any{"map": "len(input.stdout)"}, `16`, false},
		{"printf 12345678901234567", nil, "result_too_large", false},
		{"yes", nil, "result_too_large", false},
		{"printf '\\377'", nil, "invalid_result", false},
		{"printf '{'", map[string]any{"json": true}, "invalid_result", false},
		{"exit 0", map[string]any{"map": "input.stdout + 1"}, "expression_error", false},
		{"exit 0", map[string]any{"map": "1 +"}, "invalid_input", false},
		{"exit 0", map[string]any{"timeout": "-1s"}, "invalid_input", false},
		{"exit \x00", nil, "invalid_input", false},
		{": " + strings.Repeat("x", 1<<18), nil, "invalid_input", false},
		{"exit 0", map[string]any{"env": map[string]string{"LD_PRELOAD": "x"}}, "command_forbidden", false},
		{"exit 0", map[string]any{"command": []string{"sh"}}, "command_forbidden", false},
		{"exit 0", map[string]any{"command": []string{"/bin/../bin/sh"}}, "command_forbidden", false},
		{"exit 0", map[string]any{"command": []string{}}, "invalid_input", false},
		{"exit 0", map[string]any{"command": shell}, "invalid_input", false},
		{"sleep 60", map[string]any{"timeout_ms": 1}, "timeout", true},
	} {
		result, err := runShell(t.Context(), t, h, c.script, c.more)
		got := string(result)
		if err != nil {
			got = failureType(err)
			if e, ok := errors.AsType[*worker.TaskError](err); !ok || e.NonRetryable == c.again {
				t.Errorf("%.20q %v: it may be tried again: %v", c.script, c.more, !c.again)
			}
		}
		if got != c.want {
			t.Errorf("%.20q %v: %s, %v, want %s", c.script, c.more, got, err, c.want)
		}
	}
}

// No shell reads arguments, and the program has no variable of the executor but those that are named.
func TestCommandsSeeWhatTheyMay(t *testing.T) {
	t.Setenv("EXEC_SECRET", "s3cret")
	t.Setenv("EXEC_SHOWN", "shown")
	h := newCommand(t, Commands{Allow: []string{"/usr/bin/env", "/usr/bin/printf"}, Env: []string{"EXEC_SHOWN", "EXEC_GIVEN", "EXEC_ABSENT"}})
	input := `{"command": ["/usr/bin/env"], "env": {"EXEC_GIVEN": "a b"}, "map": "input.stdout"}`
	result, err := h.Run(t.Context(), attempt("exec.command", input))
	if err != nil {
		t.Fatal(err)
	}
	want := `"EXEC_GIVEN=a b\nEXEC_SHOWN=shown\nHEDDLE_ATTEMPT=2\nHEDDLE_IDEMPOTENCY_KEY=w-1/r3\nHEDDLE_TOKEN=` + attempt("", "").Token() +
		`\nHEDDLE_WORKFLOW=w-1\nTRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n"`
	if string(result) != want {
		t.Errorf("it has\n%s, want\n%s", result, want)
	}
	result, err = h.Run(t.Context(), attempt("exec.command", `{"command": ["/usr/bin/printf", "%s|", "$HOME", "*", "; id"], "map": "input.stdout"}`))
	if err != nil || string(result) != `"$HOME|*|; id|"` {
		t.Errorf("its arguments were read as %s, %v", result, err)
	}
}

// A failure tells of the program's end, and neither of its arguments nor of its variables; nor does the log.
func TestArgumentsAreInNoErrorAndNoLog(t *testing.T) {
	var log bytes.Buffer
	h, err := newExecCommand(&Config{
		Commands: Commands{Allow: []string{shell}, Env: []string{"EXEC_GIVEN"}}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"exit 1 # s3cret", "s3cret() { :; }; sleep 60", ": " + strings.Repeat("s3cret", 1<<18)} {
		_, err := runShell(t.Context(), t, h, script, map[string]any{"timeout_ms": 50, "env": map[string]string{"EXEC_GIVEN": "s3cret"}})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the failure is %v", err)
		}
		if e, ok := errors.AsType[*worker.TaskError](err); ok && strings.Contains(string(e.Details), "s3cret") {
			t.Errorf("its details are %s", e.Details)
		}
	}
	if strings.Contains(log.String(), "s3cret") {
		t.Errorf("the log is %s", log.String())
	}
}

// stubborn is a script that ignores SIGTERM, has a child that does so, too, and tells both process IDs.
const stubborn = `trap '' TERM; sleep 600 & echo $$ $! > "$EXEC_PIDS"; wait; wait`

// The end of an attempt ends all of the process group, also those that do not obey.
func TestCancelEndsTheWholeGroup(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	if err := syscall.Mkfifo(pids, 0o600); err != nil {
		t.Fatal(err)
	}
	h := newCommand(t, Commands{Allow: []string{shell}, Env: []string{"EXEC_PIDS", "PATH"}})
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := runShell(ctx, t, h, stubborn, map[string]any{"env": map[string]string{"EXEC_PIDS": pids}})
		ended <- err
	}()
	line, err := os.ReadFile(pids) // once both run
	if err != nil {
		t.Fatal(err)
	}
	cancel(worker.ErrCancelled)
	if err := <-ended; !errors.Is(err, worker.ErrCancelled) {
		t.Errorf("it ended with %v", err)
	}
	gone(t, string(line))
}

// What a program leaves behind ends with it, and does not delay its result for long.
func TestWhatACommandLeavesBehindIsKilled(t *testing.T) {
	h := newCommand(t, Commands{Allow: []string{shell}, Env: []string{"PATH"}})
	began := time.Now()
	result, err := runShell(t.Context(), t, h, "sleep 600 & echo $!", map[string]any{"map": "input.stdout"})
	if err != nil {
		t.Fatal(err)
	}
	var pid string
	if err := json.Unmarshal(result, &pid); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// gone holds that processes have been killed: they do not run, though nobody may have taken note of their end yet.
func gone(t *testing.T, pids string) {
	t.Helper()
	fields := strings.Fields(pids)
	if len(fields) == 0 {
		t.Fatal("no process was told of")
	}
	for _, pid := range fields {
		deadline := time.Now().Add(10 * time.Second)
		for {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if _, state, ok := strings.Cut(string(stat), ") "); err != nil || ok && state[0] == 'Z' {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the process %s still runs", pid)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// The directory of a program is empty, and gone when it has ended.
func TestCommandsHaveADirectoryOfTheirOwn(t *testing.T) {
	h := newCommand(t, Commands{Allow: []string{shell}})
	result, err := runShell(t.Context(), t, h, `pwd; echo *; echo x > file; mkdir -p a/b`, map[string]any{"map": "input.stdout"})
	if err != nil {
		t.Fatal(err)
	}
	var out string
	if err := json.Unmarshal(result, &out); err != nil {
		t.Fatal(err)
	}
	dir, rest, _ := strings.Cut(out, "\n")
	if rest != "*\n" {
		t.Errorf("it has %q", rest)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory %s: %v", dir, err)
	}
}

func TestCommandsThatCannotBeAllowed(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Commands{
		{Allow: []string{"sh"}}, {Allow: []string{"./sh"}}, {Allow: []string{"/bin/../bin/sh"}}, {Allow: []string{""}},
		{Allow: []string{"/nowhere/at/all"}}, {Allow: []string{filepath.Dir(plain)}}, {Allow: []string{plain}},
		{Allow: []string{shell}, Env: []string{"A=B"}}, {Env: []string{""}},
	} {
		if _, err := newExecCommand(&Config{Commands: c}); err == nil {
			t.Errorf("%+v is allowed", c)
		}
	}
	if _, err := newCommand(t, Commands{}).Run(t.Context(), attempt("exec.command", `{"command": ["/bin/sh"]}`)); !errors.Is(err, worker.ErrUnknownTask) {
		t.Errorf("an executor that may run nothing says %v, which does not hand it back", err)
	}
}
