// Command receiver takes completion notices, and does what it does about each only once.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"
)

// receiver knows the ids of the notices that it has taken. One that is restarted meanwhile
// would keep them where it keeps what it does: in its database, in the same transaction.
type receiver struct {
	mu    sync.Mutex
	taken map[string]bool
	out   io.Writer
}

// ServeHTTP implements http.Handler. An answer of 2xx takes the notice; 5xx asks for it again; 400 gives it up.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var n struct {
		ID       string                     `json:"id"`
		Workflow string                     `json:"workflow"`
		Drain    int                        `json:"drain"`
		Status   string                     `json:"status"`
		Results  map[string]json.RawMessage `json:"results"`
		Args     json.RawMessage            `json:"args"`
	}
	body := http.MaxBytesReader(w, req.Body, 4<<20)
	if err := json.NewDecoder(body).Decode(&n); err != nil || n.ID == "" {
		http.Error(w, "want a completion notice", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.taken[n.ID] {
		fmt.Fprintf(r.out, "%s is %s for the %d. time: price %s, args %s\n", n.Workflow, n.Status, n.Drain, n.Results["price"], n.Args)
		r.taken[n.ID] = true
	}
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8099", "address of the receiver")
	flag.Parse()
	server := &http.Server{
		Addr: *listen, Handler: &receiver{taken: map[string]bool{}, out: os.Stdout}, ReadTimeout: 10 * time.Second,
	}
	log.Fatal(server.ListenAndServe())
}
