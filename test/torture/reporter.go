package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reporter is the HTTP service that the executors call: it tells what they ran.
type reporter struct {
	ran    *executions
	ln     net.Listener
	server *http.Server
}

func newReporter(ran *executions) (*reporter, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the executors: %w", err)
	}
	r := &reporter{ran: ran, ln: ln}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(ln) }() // ends when it is closed; calls that fail are tried again
	return r, nil
}

// definition is the definition whose calls come here.
func (r *reporter) definition() []byte {
	return []byte(strings.ReplaceAll(definition, "URL", "http://"+r.ln.Addr().String()))
}

func (r *reporter) close() error { return r.server.Close() }

// ServeHTTP implements http.Handler.
func (r *reporter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var n int
	if err := json.NewDecoder(req.Body).Decode(&n); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result := strconv.Itoa(called(n))
	call := req.Header.Get("Idempotency-Key")
	r.ran.met(call) // it is tried once, unless its executor is lost
	r.ran.note(call, result)
	w.Header().Set("Content-Type", "application/json")
	// A caller that is killed meanwhile calls again.
	_, _ = w.Write([]byte(result))
}
