package executor

import (
	"context"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/delivery"
	"github.com/heddle-run/heddle/shared/events"
)

// docs/http-services.md has each header that a service gets.
func TestEachHeaderOfAnAttemptIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/http-services.md")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://service/", nil)
	if err != nil {
		t.Fatal(err)
	}
	setAttempt(req, &worker.Attempt{Spec: events.Task{TraceParent: "00-1-1-01"}})
	for name := range req.Header {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("the header %s is not documented", name)
		}
	}
	if len(req.Header) < 9 {
		t.Errorf("the attempt has only the headers %v", req.Header)
	}
}

// docs/definition.md has each parameter of the built-in tasks.
func TestEachParameterOfBuiltInTasksIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/definition.md")
	if err != nil {
		t.Fatal(err)
	}
	for task, params := range map[string]any{"http.request": requestParams{}, "kafka.produce": produceParams{}, "terminal.submit": submitParams{}, "exec.command": commandParams{}} {
		_, row, ok := strings.Cut(string(text), "| `"+task+"` |")
		if !ok {
			t.Errorf("%s is not documented", task)
		}
		row, _, _ = strings.Cut(row, "\n")
		for f := range reflect.TypeOf(params).Fields() {
			if name := f.Tag.Get("json"); !strings.Contains(row, "`"+name+"`") {
				t.Errorf("the parameter %s of %s is not documented", name, task)
			}
		}
	}
}

// docs/programs.md has each parameter of exec.command, and each variable and failure.
func TestProgramsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/programs.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for f := range reflect.TypeFor[commandParams]().Fields() {
		names = append(names, f.Tag.Get("json"))
	}
	for _, v := range environ(map[string]string{}, attempt("exec.command", "{}")) {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	names = append(names, errorExitStatus, errorCommandFailed, errorCommandForbidden, events.ErrorTimeout, events.ErrorInvalidInput,
		events.ErrorResultTooLarge, events.ErrorInvalidResult, events.ErrorExpression)
	for _, name := range names {
		if !strings.Contains(string(b), "`"+name+"`") {
			t.Errorf("%s is not documented", name)
		}
	}
}

// docs/terminals.md has each parameter and each reason of terminal.submit, and its definition is one.
func TestTerminalsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/terminals.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for f := range reflect.TypeFor[submitParams]().Fields() {
		if name := f.Tag.Get("json"); !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("the parameter %s is not documented", name)
		}
	}
	for _, r := range []delivery.Reason{
		delivery.MissingTarget, delivery.SendConfirmed, delivery.SendConfirmedActiveTask, delivery.SendUnconfirmed,
		delivery.UnconfirmedAfterMaxRetries, delivery.LeaderMissing, delivery.LeaderMissingDeferred, delivery.DeferredNotInjectable,
		delivery.TargetResolutionFailed + ":" + delivery.UnresolvedTarget, delivery.PreflightFailed + ":" + delivery.PaneNotReady,
		delivery.PreflightFailed + ":" + whyPaneDead, delivery.PreflightFailed + ":" + whyPaneGone, delivery.SendFailed + ":" + whyPaneGone,
	} {
		if !strings.Contains(text, "`"+string(r)+"`") {
			t.Errorf("the reason %s is not documented", r)
		}
	}
	_, example, _ := strings.Cut(text, "```yaml\n")
	example, _, ok := strings.Cut(example, "```")
	def, err := definition.Parse([]byte(example))
	if err != nil || !ok {
		t.Fatalf("the example is no definition: %v", err)
	}
	if err := def.CheckParams(); err != nil || len(def.Warnings) > 0 {
		t.Errorf("the example: %v, %v", err, def.Warnings)
	}
}
