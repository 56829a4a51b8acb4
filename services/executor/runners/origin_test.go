package runners_test

import (
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/services/executor/runners"
)

// Without keys the pages of some origins run runners, and no others.
func TestPagesOfTheOriginsThatAreNamedConnect(t *testing.T) {
	in(t, func(t *testing.T, r *rig) {
		from := func(origin string) func(*websocket.DialOptions) {
			return func(o *websocket.DialOptions) { o.HTTPHeader = http.Header{"Origin": {origin}} }
		}
		for _, origin := range []string{"http://localhost:5173", "https://app.example.com", "https://APP.example.com", "http://[::1]:5173"} {
			c := r.dial(query, from(origin))
			c.send(initial())
			r.welcome(r.hello(), 0)
			c.init()
		}
		for _, origin := range []string{"http://localhost:5174", "https://localhost:5173", "http://app.example.com", "https://a.app.example.com", "http://1:5173", "null"} {
			if _, response, err := r.tryDial(query, from(origin)); err == nil || response.StatusCode != 403 {
				t.Errorf("%s: answered with %v, %v", origin, response, err)
			}
		}
	}, func(c *runners.Config) {
		c.Origins = []string{"http://localhost:5173", "https://app.example.com", "http://[::1]:5173"}
	})
}

func TestOriginsAreChecked(t *testing.T) {
	for origin, right := range map[string]bool{
		"http://localhost:5173": true, "https://app.example.com": true, "http://[::1]:1": true,
		"": false, "*": false, "app.example.com": false, "https://*.example.com": false, "https://app.example.com/": false, "https://a@b": false,
		"ws://localhost": false, "https://app.example.com?x": false, "https://": false, "http://a\\b": false,
	} {
		if err := runners.CheckOrigin(origin); (err == nil) != right {
			t.Errorf("%q: %v", origin, err)
		}
	}
}
