package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/history"
	"github.com/heddle-run/heddle/shared/events"
)

const (
	// pingEvery keeps proxies from closing a silent stream.
	pingEvery = 15 * time.Second

	// slowClient is how long one write to a stream may take.
	slowClient = 30 * time.Second
)

// streamEvents sends the history so far and then what is appended, as
// server-sent events. The id of each is its place in the journal.
func (g *Gateway) streamEvents(w http.ResponseWriter, r *http.Request) error {
	from, err := history.ParseCursor(r.Header.Get("Last-Event-ID"))
	if err != nil {
		return refuseField("invalid_parameter", "Last-Event-ID", err.Error())
	}
	s, err := g.subject(r)
	if err != nil {
		return err
	}
	return g.stream(w, r, func(ctx context.Context, out *stream) error {
		err := history.Follow(ctx, g.cfg.Kafka, s.run, from, s.asOf, func(i history.Item) bool {
			sent := out.send(i.Cursor.String(), s.names.Print(i))
			_, deleted := i.Event.(*events.WorkflowDeleted)
			return sent && !deleted
		})
		if err == nil && s.run.Closed && !out.began() {
			w.WriteHeader(http.StatusNoContent) // all is told: a browser comes no more
		}
		return err
	})
}

// stream is an event stream that write writes until it is done, the client is gone, or the gateway stops: then ctx ends.
// What breaks off a stream that has begun shows in its client taking it up again.
func (g *Gateway) stream(w http.ResponseWriter, r *http.Request, write func(ctx context.Context, out *stream) error) error {
	if r.Method == http.MethodHead {
		eventHeader(w)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	select {
	case g.watchers <- struct{}{}:
		defer func() { <-g.watchers }()
	default:
		return retry(refuse("too_many_watchers", fmt.Sprintf("the limit is %d event streams", g.limits.Watchers)), 5)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := newStream(w)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		out.ping(ctx, g.stopping)
	}()
	err := write(ctx, out)
	broken := out.began() || ctx.Err() != nil && r.Context().Err() == nil
	cancel()
	<-done
	if broken {
		return nil
	}
	return err
}

// stream writes one text/event-stream.
type stream struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	ctl   *http.ResponseController
	begun bool
}

func newStream(w http.ResponseWriter) *stream {
	return &stream{w: w, ctl: http.NewResponseController(w)}
}

func (s *stream) began() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// send writes one event; false when the client is gone or too slow.
func (s *stream) send(id string, data json.RawMessage) bool {
	if bytes.ContainsAny(data, "\r\n") {
		var compact bytes.Buffer
		if json.Compact(&compact, data) == nil {
			data = compact.Bytes()
		}
	}
	return s.write(fmt.Appendf(nil, "id: %s\ndata: %s\n\n", id, data))
}

func (s *stream) write(b []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		eventHeader(s.w)
	}
	_ = s.ctl.SetWriteDeadline(time.Now().Add(slowClient)) // a writer without deadlines cannot be slow either
	if _, err := s.w.Write(b); err != nil {
		return false
	}
	return s.ctl.Flush() == nil
}

func eventHeader(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
}

// ping writes comments into the silence until ctx ends, stopping is closed or
// the client is gone.
func (s *stream) ping(ctx context.Context, stopping <-chan struct{}) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if !s.write([]byte(": still here\n\n")) {
				return
			}
		case <-stopping:
			return
		case <-ctx.Done():
			return
		}
	}
}
