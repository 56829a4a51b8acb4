package runner

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/heddle-run/heddle/shared/frames"
)

// begun is a body of which only the begin comes.
type begun struct {
	ctx   context.Context
	begin []byte
}

// Read implements io.Reader.
func (b *begun) Read(p []byte) (int, error) {
	if n := copy(p, b.begin); n > 0 {
		b.begin = b.begin[n:]
		return n, nil
	}
	<-b.ctx.Done()
	return 0, context.Cause(b.ctx)
}

// A handler may answer before it has read the body, and goes. What is written to it then fails, and its answer counts.
func TestAnAnswerBeforeTheBodyIsReadIsTheAnswer(t *testing.T) {
	s := newSite(t.Context(), &attempt{loop: &loop{log: slog.New(slog.DiscardHandler)}, task: &frames.StartTask{Task: "serve"}},
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	t.Cleanup(s.close)
	for i := range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, "POST", "http://attempt/", &begun{ctx, []byte("begin")})
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = 100
		response, err := s.transport.RoundTrip(r)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusForbidden || string(body) != "no\n" {
			t.Fatalf("request %d: %d %q, %v", i, response.StatusCode, body, err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
}
