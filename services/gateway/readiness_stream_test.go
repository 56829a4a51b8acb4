package gateway_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// A stream of the readiness has what is known at once, and each change as it is published, once.
func TestReadinessIsFollowed(t *testing.T) {
	r := start(t, nil)
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url+"/v1/readiness/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("it is %q", got)
	}
	in := bufio.NewScanner(resp.Body)
	next := func() string {
		for in.Scan() {
			if data, is := strings.CutPrefix(in.Text(), "data: "); is {
				return data
			}
		}
		t.Fatalf("the stream has ended: %v", in.Err())
		return ""
	}
	if got := next(); !strings.Contains(got, "no readiness record") {
		t.Errorf("before anything is published: %s", got)
	}
	for _, is := range []string{`{"ready":false}`, `{"ready":true}`} {
		r.readiness(t, "all", is)
		r.readiness(t, "all", is) // nothing new
		if got := next(); got != is {
			t.Errorf("got %s, want %s", got, is)
		}
	}
	if err := r.gw.Close(); err != nil {
		t.Error(err)
	}
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "data: ") {
			t.Errorf("behind the end there is %s", in.Text())
		}
	}
}
