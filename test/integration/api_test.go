//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// api speaks the gateway's HTTP as anybody would: paths and JSON.
type api struct {
	t    *testing.T
	base string
}

// object is a JSON object to send.
type object = map[string]any

// workflow is what the tests look at in a workflow's summary.
type workflow struct {
	ID        string `json:"id"`
	Status    string `json:"status"`
	Partition int    `json:"partition"`
	Owner     struct {
		Instance string `json:"instance"`
		Epoch    uint64 `json:"epoch"`
	} `json:"owner"`
	Counts  map[string]int  `json:"counts"`
	Failure json.RawMessage `json:"failure"`
}

// outcome is the answer to a start or input that waited.
type outcome struct {
	Workflow workflow                   `json:"workflow"`
	Results  map[string]json.RawMessage `json:"results"`
}

func (a *api) get(path string, out any) error { return a.do(http.MethodGet, path, nil, out) }

// do sends a request and decodes the answer into out, which may be nil.
func (a *api) do(method, path string, body, out any) error {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.base+path, r)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return &statusError{resp.StatusCode, string(text)}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: %w in %s", method, path, err, text)
	}
	return nil
}

// startAndWait starts a workflow and waits until it has drained.
func (a *api) startAndWait(id string, definition, input any) outcome {
	a.t.Helper()
	var o outcome
	body := object{"definition": definition, "input": input}
	if err := a.do(http.MethodPut, "/v1/workflows/"+id+"?wait=60s", body, &o); err != nil {
		a.t.Fatalf("starting %s: %v", id, err)
	}
	return o
}

// start starts a workflow and returns when the planner has decided.
func (a *api) start(id string, definition, input any) {
	a.t.Helper()
	body := object{"definition": definition, "input": input}
	if err := a.do(http.MethodPut, "/v1/workflows/"+id+"?wait=accepted", body, nil); err != nil {
		a.t.Fatalf("starting %s: %v", id, err)
	}
}

// drained is the workflow's results once it has drained with the wanted status.
func (a *api) drained(id, want string) (map[string]json.RawMessage, error) {
	var w workflow
	if err := a.get("/v1/workflows/"+id, &w); err != nil {
		return nil, err
	}
	if w.Status != want {
		return nil, fmt.Errorf("%s is %s (%v)", id, w.Status, w.Counts)
	}
	var r outcome
	err := a.get("/v1/workflows/"+id+"/results", &r)
	return r.Results, err
}

// types are the types of the events in a workflow's history.
func (a *api) types(id string) []string {
	a.t.Helper()
	var all []string
	for cursor := ""; ; {
		var page struct {
			Items []struct {
				Type string `json:"type"`
			} `json:"items"`
			Next string `json:"next_cursor"`
		}
		if err := a.get("/v1/workflows/"+id+"/history?cursor="+cursor, &page); err != nil {
			a.t.Fatalf("history of %s: %v", id, err)
		}
		for _, item := range page.Items {
			all = append(all, item.Type)
		}
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

// wantResult fails the test unless the result has the wanted JSON.
func wantResult(t *testing.T, results map[string]json.RawMessage, name, want string) {
	t.Helper()
	if got := string(results[name]); got != want {
		t.Fatalf("result %s = %s, want %s (all: %s)", name, got, want, results)
	}
}
