package main

import (
	"context"
	"io"
	"net/http"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/sdk/runner"
)

// answer serves requests of tunnels, as docs/runner-clients.md says, while it sleeps.
func answer(ctx context.Context, ms int64) (string, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", echo)
	mux.HandleFunc("/stream", stream)
	mux.HandleFunc("/socket", talk)
	if err := runner.Serve(ctx, mux); err != nil {
		return "", err
	}
	return sleep(ctx, ms)
}

func echo(w http.ResponseWriter, r *http.Request) {
	for name, v := range map[string]string{"x-method": r.Method, "x-path": r.URL.RequestURI(), "x-own": r.Header.Get("X-Own")} {
		w.Header().Set(name, v)
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = io.Copy(w, r.Body) // the client sees it
}

func stream(w http.ResponseWriter, r *http.Request) {
	part := make([]byte, 1000)
	for r.Context().Err() == nil {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

func talk(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"talk"}})
	if err != nil {
		return // it has been answered
	}
	defer func() { _ = conn.CloseNow() }() // it is closed, as a rule
	for {
		kind, b, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		if err := conn.Write(r.Context(), kind, b); err != nil {
			return
		}
	}
}
