package executor

import (
	"context"
	"net/http"
	"os"
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
