//go:build integration

package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// shop is an HTTP service that runs the tasks of the queue shop:
//
//	shop.add     n + 1
//	shop.flaky   n + 1, but answers 503 to the first two calls with each key
//	shop.slow    n + 1, once the test opens the gate
type shop struct {
	url  string
	gate chan struct{} // closed: slow tasks go on

	mu    sync.Mutex
	calls map[string][]call // by task
	flaky map[string]int    // calls by idempotency key
}

// call is one request that the shop got.
type call struct {
	Token, Attempt, Key string
	Input               json.RawMessage
}

func newShop(t *testing.T) *shop {
	s := &shop{gate: make(chan struct{}), calls: map[string][]call{}, flaky: map[string]int{}}
	server := httptest.NewServer(s)
	s.url = server.URL
	t.Cleanup(func() {
		s.open()
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// open lets all slow tasks go on.
func (s *shop) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gate:
	default:
		close(s.gate)
	}
}

// seen are the calls of a task so far.
func (s *shop) seen(task string) []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls[task]...)
}

func (s *shop) record(task string, c call) (nth int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[task] = append(s.calls[task], c)
	s.flaky[c.Key]++
	return s.flaky[c.Key]
}

// ServeHTTP runs one attempt.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	task := strings.TrimPrefix(r.URL.Path, "/")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the worker went away
	}
	nth := s.record(task, call{r.Header.Get("Heddle-Token"), r.Header.Get("Heddle-Attempt"), r.Header.Get("Idempotency-Key"), body})
	switch task {
	case "shop.flaky":
		if nth <= 2 {
			http.Error(w, `{"type":"busy","message":"try again"}`, http.StatusServiceUnavailable)
			return
		}
	case "shop.slow":
		select {
		case <-s.gate:
		case <-r.Context().Done():
			return
		}
	}
	s.answer(w, body)
}

// answer adds 1 to the number that the input is.
func (s *shop) answer(w http.ResponseWriter, body []byte) {
	var n int
	if err := json.Unmarshal(body, &n); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(n + 1) // a worker that went away shows in the workflow
}
