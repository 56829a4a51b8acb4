package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
)

//go:embed order.yaml
var definition string

// page is docs/completion.md, whose example this is.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/completion.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// call is what the receiver got, and what it answered.
type call struct {
	header http.Header
	body   []byte
	status int
}

// unsteady puts a receiver behind a proxy that loses the answer to the first call.
func unsteady(t *testing.T, r http.Handler, calls chan<- call) *httptest.Server {
	var mu sync.Mutex
	n := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, req)
		calls <- call{req.Header, body, answer.Code}
		if n++; n == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(answer.Code)
	}))
}

// The example of the page is this one: its definition is the file, its output is what the receiver prints
// however often it is called, and the notice has the fields and headers that the page names.
func TestTheExampleOfThePage(t *testing.T) {
	text := page(t)
	if !strings.Contains(text, "```yaml\n"+definition+"```") {
		t.Errorf("docs/completion.md does not have the definition\n%s", definition)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, err := dev.Start(ctx, dev.Options{Memory: true, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c, err := client.New(ctx, client.Options{URL: d.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out bytes.Buffer
	calls := make(chan call, 16)
	server := unsteady(t, &receiver{taken: map[string]bool{}, out: &out}, calls)
	defer server.Close()
	if _, err := c.Define(ctx, "order", []byte(strings.Replace(definition, "http://127.0.0.1:8099", server.URL, 1))); err != nil {
		t.Fatal(err)
	}
	run, err := c.Start(ctx, "order", 5, client.StartOptions{ID: "order-1"})
	if err != nil {
		t.Fatal(err)
	}
	<-calls // whose answer is lost
	first := <-calls
	if _, err := c.Input(ctx, run.ID, 7, client.InputOptions{}); err != nil {
		t.Fatal(err)
	}
	last := <-calls
	if printed := "```\n" + out.String() + "```"; !strings.Contains(text, printed) {
		t.Errorf("docs/completion.md does not have what the receiver prints:\n%s", printed)
	}
	if first.status != http.StatusNoContent || last.status != http.StatusNoContent {
		t.Errorf("the receiver answered %d and %d", first.status, last.status)
	}
	documented(t, text, first)
}

// documented holds a call against what the page says of it.
func documented(t *testing.T, text string, c call) {
	t.Helper()
	for _, name := range []string{"Idempotency-Key", "Ce-Id", "Ce-Type", "Ce-Source", "Heddle-Workflow", "Heddle-Drain"} {
		if c.header.Get(name) == "" || !strings.Contains(text, "`"+name+"`") {
			t.Errorf("the header %s is %q", name, c.header.Get(name))
		}
	}
	if c.header.Get("Ce-Type") != "heddle.workflow.drained.v1" || c.header.Get("Idempotency-Key") != c.header.Get("Ce-Id") {
		t.Errorf("the headers are %v", c.header)
	}
	_, example, ok := strings.Cut(text, "```json\n")
	example, _, is := strings.Cut(example, "```")
	var want, got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(example), &want); err != nil || !ok || !is {
		t.Fatalf("docs/completion.md has no notice as an example: %v", err)
	}
	if err := json.Unmarshal(c.body, &got); err != nil {
		t.Fatal(err)
	}
	for name := range want { // order: each is reported by its name
		if _, has := got[name]; !has {
			t.Errorf("the notice has no %s: %s", name, c.body)
		}
	}
	for name := range got { // order: each is reported by its name
		if _, has := want[name]; !has {
			t.Errorf("the example has no %s", name)
		}
	}
	for _, same := range []string{"workflow", "drain", "status", "results", "all_results", "args", "failure"} {
		var a, b bytes.Buffer
		if json.Compact(&a, want[same]) != nil || json.Compact(&b, got[same]) != nil || a.String() != b.String() {
			t.Errorf("%s is %s, and %s on the page", same, got[same], want[same])
		}
	}
}

func TestWhatIsNoNoticeIsRefused(t *testing.T) {
	r := &receiver{taken: map[string]bool{}, out: io.Discard}
	for _, body := range []string{"", "x", "{}", "[1]"} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/done", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest || len(r.taken) > 0 {
			t.Errorf("%q: %d", body, w.Code)
		}
	}
}
