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
	for task, params := range map[string]any{"http.request": requestParams{}, "kafka.produce": produceParams{}} {
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
