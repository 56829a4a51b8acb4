package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
)

// execCommand is the task exec.command: it runs a program of the executor's machine. No shell reads any of its
// arguments.
type execCommand struct {
	rules Commands
	maps  programs
	log   *slog.Logger
}

const (
	errorCommandForbidden = "command_forbidden"
	errorCommandFailed    = "command_failed" // it could not be started
	errorExitStatus       = "exit_status"
)

// commandTimeout holds where the step gives no timeout: a program that never ends must not hold a slot for ever.
const commandTimeout = time.Minute

func newExecCommand(c *Config) (*execCommand, error) {
	if err := c.Commands.check(); err != nil {
		return nil, err
	}
	return &execCommand{rules: c.Commands, log: c.Logger}, nil
}

// commandParams is the input of exec.command.
type commandParams struct {
	Command   []string          `json:"command"` // the program's absolute path, and its arguments
	Stdin     json.RawMessage   `json:"stdin"`   // a text is written as it is, anything else as JSON
	Env       map[string]string `json:"env"`
	Expect    []int             `json:"expect"` // exit codes that are no failure; 0
	JSON      bool              `json:"json"`   // what it writes is JSON
	Map       string            `json:"map"`    // expression over input = {exit_code, stdout, stderr}
	Timeout   string            `json:"timeout"`
	TimeoutMs int64             `json:"timeout_ms"`
}

// command is one attempt of exec.command, checked.
type command struct {
	*commandParams
	env     []string
	program *expr.Program // nil: no map
	limit   time.Duration
}

// Run implements worker.Handler. The result is {exit_code, stdout, stderr}, or what map makes of it.
func (e *execCommand) Run(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
	if len(e.rules.Allow) == 0 {
		return nil, fmt.Errorf("%w: this executor may run no program (--allow-command)", worker.ErrUnknownTask)
	}
	c, err := e.command(a)
	if err != nil {
		return nil, err
	}
	done, err := e.run(ctx, c)
	if err != nil {
		return nil, err
	}
	expect := c.Expect
	if len(expect) == 0 {
		expect = []int{0}
	}
	if !slices.Contains(expect, done.code) {
		return nil, done.failure(c.Command[0])
	}
	return done.answer(a, c)
}

// command reads and checks what is to be run.
func (e *execCommand) command(a *worker.Attempt) (*command, error) {
	c := &command{commandParams: &commandParams{}}
	if err := parameters(a, c.commandParams); err != nil {
		return nil, err
	}
	if len(c.Command) == 0 {
		return nil, refuse(events.ErrorInvalidInput, "exec.command: command is missing: the program's absolute path, and its arguments")
	}
	if !slices.Contains(e.rules.Allow, c.Command[0]) {
		return nil, refuse(errorCommandForbidden, "the program %q is not in the executor's list of allowed programs (--allow-command)", events.Cut(c.Command[0], maxQuoted))
	}
	env, err := e.rules.environment(c.Env)
	if err != nil {
		return nil, err
	}
	c.env = environ(env, a)
	for _, text := range slices.Concat(c.Command, c.env) {
		if strings.ContainsRune(text, 0) {
			return nil, refuse(events.ErrorInvalidInput, "exec.command: an argument or a variable has a NUL character, which no program can be given")
		}
	}
	if c.Map != "" {
		if c.program, err = e.maps.compile(c.Map); err != nil {
			return nil, refuse(events.ErrorInvalidInput, "map: %v", err)
		}
	}
	if c.limit, err = timeoutOf(c.Timeout, c.TimeoutMs, commandTimeout); err != nil {
		return nil, refuse(events.ErrorInvalidInput, "timeout: %v", err)
	}
	return c, nil
}

// environ are the variables of a program, with what it may want to know of its attempt.
func environ(env map[string]string, a *worker.Attempt) []string {
	env["HEDDLE_TOKEN"] = a.Token()
	env["HEDDLE_WORKFLOW"] = a.Workflow
	env["HEDDLE_ATTEMPT"] = strconv.FormatUint(uint64(a.Spec.Attempt), 10)
	env["HEDDLE_IDEMPOTENCY_KEY"] = a.Spec.IdempotencyKey
	if a.Spec.TraceParent != "" {
		env["TRACEPARENT"] = a.Spec.TraceParent
	}
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// run runs the program in a directory of its own, until it ends, its time is over, or the attempt ends.
func (e *execCommand) run(ctx context.Context, c *command) (*ended, error) {
	dir, err := os.MkdirTemp("", "heddle-exec-")
	if err != nil {
		return nil, &worker.TaskError{Type: errorCommandFailed, Message: err.Error()}
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			e.log.Warn("the directory of a program is not removed", "dir", dir, "error", err)
		}
	}()
	timed, cancel := context.WithTimeoutCause(ctx, c.limit, errCommandTime)
	defer cancel()
	timed, stop := context.WithCancelCause(timed)
	defer stop(nil)
	done := &ended{stdout: head{limit: e.rules.MaxOutput, over: func() { stop(errTooMuch) }}}
	cmd := exec.Command(c.Command[0], c.Command[1:]...) //nolint:noctx // its group is ended, not it alone
	cmd.Dir, cmd.Env = dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text(c.Stdin)), &done.stdout, &done.stderr
	err = runGroup(timed, cmd)
	switch cause := context.Cause(timed); {
	case errors.Is(cause, errTooMuch):
		return nil, refuse(events.ErrorResultTooLarge, "%s wrote more than the limit of %d bytes", c.Command[0], e.rules.MaxOutput)
	case errors.Is(cause, errCommandTime):
		return nil, &worker.TaskError{Type: events.ErrorTimeout, Message: fmt.Sprintf("%s took longer than %s and was ended", c.Command[0], c.limit)}
	case cause != nil:
		return nil, fmt.Errorf("the program was ended: %w", cause)
	}
	if _, ran := errors.AsType[*exec.ExitError](err); err != nil && !ran {
		return nil, notRun(err)
	}
	done.of(cmd.ProcessState)
	return done, nil
}

var (
	errCommandTime = errors.New("the program's time is over")
	errTooMuch     = errors.New("the program writes too much")
)

// notRun is the failure of a program that could not be started, or not be heard to its end. The system's error names
// the program, and none of its arguments.
func notRun(err error) error {
	if errors.Is(err, syscall.E2BIG) {
		return refuse(events.ErrorInvalidInput, "the arguments and variables are larger than the system takes: %v", err)
	}
	return &worker.TaskError{Type: errorCommandFailed, Message: err.Error()}
}

// text is a value as bytes for a program: a text as it is, anything else as JSON.
func text(value json.RawMessage) []byte {
	var s *string
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	if json.Unmarshal(value, &s) == nil {
		return []byte(*s)
	}
	return value
}

// ended is a program that has ended by itself.
type ended struct {
	code   int // -1: a signal ended it
	how    string
	stdout head
	stderr tail
}

func (d *ended) of(state *os.ProcessState) { d.code, d.how = state.ExitCode(), state.String() }

// failure is that of an exit code that is not expected. The last of what the program wrote is with it.
func (d *ended) failure(path string) error {
	out := d.stdout.kept.Bytes()
	details, err := json.Marshal(map[string]any{
		"exit_code": d.code, "stdout": readable(out[max(0, len(out)-maxQuoted):]), "stderr": readable(d.stderr.kept),
	})
	if err != nil {
		return err
	}
	return &worker.TaskError{Type: errorExitStatus, Message: path + ": " + d.how, Details: details}
}

// answer is the result of the attempt.
func (d *ended) answer(a *worker.Attempt, c *command) (json.RawMessage, error) {
	var stdout any
	switch written := d.stdout.kept.Bytes(); {
	case !utf8.Valid(written):
		return nil, refuse(events.ErrorInvalidResult, "%s wrote what is no UTF-8", c.Command[0])
	case c.JSON && !json.Valid(written):
		return nil, refuse(events.ErrorInvalidResult, "%s wrote what is not JSON", c.Command[0])
	case c.JSON:
		stdout = json.RawMessage(bytes.TrimSpace(written))
	default:
		stdout = string(written)
	}
	result, err := json.Marshal(map[string]any{"exit_code": d.code, "stdout": stdout, "stderr": readable(d.stderr.kept)})
	if err != nil || c.program == nil {
		return result, err
	}
	mapped, err := c.program.Eval(expr.Env{Input: result, Context: a.Spec.Context, WorkflowID: a.Workflow, Now: time.Now()})
	if err != nil {
		return nil, refuse(events.ErrorExpression, "map: %v", err)
	}
	return mapped, nil
}

func readable(b []byte) string { return strings.ToValidUTF8(string(b), "�") }
