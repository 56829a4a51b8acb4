package typescript

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

//go:embed page.html
var page []byte

// browser finds Chromium. Where there is none the test is skipped, unless HEDDLE_BROWSER is "required".
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("HEDDLE_BROWSER") == "required" {
		t.Fatal("there is no Chromium on the path (Debian: chromium)")
	}
	t.Skip("the TypeScript SDK cannot be tried in a browser: there is no Chromium on the path (Debian: chromium)")
	return ""
}

// told is what the page tells.
type told struct{ What, Detail string }

// site is a web server with the page and the built package.
type site struct {
	address string // HOST:PORT
	told    chan told
}

func openSite(t *testing.T) *site {
	t.Helper()
	s := &site{told: make(chan told, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(page) // who reads no more has gone
	})
	mux.Handle("GET /dist/", http.StripPrefix("/dist/", http.FileServer(http.Dir(dir+"/dist"))))
	mux.HandleFunc("POST /tell", func(_ http.ResponseWriter, r *http.Request) {
		var what told
		if err := json.NewDecoder(r.Body).Decode(&what); err != nil {
			what = told{"unreadable", err.Error()}
		}
		s.told <- what
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.address = server.Listener.Addr().String()
	return s
}

// visit opens the page in Chromium until it tells that it is over, and is all that it tells.
func (s *site) visit(t *testing.T, host, runners, token string) (all []string) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	query := url.Values{"url": {"http://" + runners}, "token": {token}}
	if host == "localhost" { // here in the other form of frames
		query.Set("binary", "")
	}
	profile := filepath.Join(t.TempDir(), "profile")
	cmd := exec.Command(browser(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--user-data-dir="+profile, fmt.Sprintf("http://%s/?%s", net.JoinHostPort(host, port), query.Encode()), "--remote-debugging-port=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its processes are one group
		_ = cmd.Wait()
	}()
	late := time.After(limit)
	for {
		select {
		case one := <-s.told:
			all = append(all, one.What)
			if one.What == "over" {
				return all
			}
			if one.What != "connected" && one.What != "refused" {
				t.Fatalf("the page tells: %s %s", one.What, one.Detail)
			}
		case <-late:
			t.Fatalf("after %s the page has told %q only; the browser said:\n%s", limit, all, said.String())
		}
	}
}

const agentDefinition = `
name: agent
components:
  asked: {step: images.agent}
outputs: {said: asked}
options: {close: on_idle}
`

// The built package runs in Chromium as it is, as a module of a page. The page connects to a server of another origin by a key in a
// sub-protocol, or where there are no keys if its origin is named; it does a task, and stops.
func TestThePackageRunsInABrowser(t *testing.T) {
	ran(t, "npm", "run", "--silent", "build")
	browser(t)
	s := &studio{processes: processes{dir: t.TempDir()}, http: freeAddress(t), runners: freeAddress(t)}
	pages, open := openSite(t), freeAddress(t)
	s.serve(t)
	s.service(t, "executor", "open", "--http", freeAddress(t), "--runners", open, "--runners-origins", "http://"+pages.address)
	eventually(t, "the second executor serves runners", func(ctx context.Context) error {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", open)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if _, err := s.client.Define(t.Context(), "agent", []byte(agentDefinition)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		host, runners, token string
		taken                bool
	}{
		"with a key":                           {"127.0.0.1", s.runners, token, true},
		"with a wrong key":                     {"127.0.0.1", s.runners, "another", false},
		"without keys, from a named origin":    {"127.0.0.1", open, "", true},
		"without keys, from another origin":    {"localhost", open, "", false},
		"with a key, from whatever the origin": {"localhost", s.runners, token, true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.taken {
				s.visited(t, pages, c.host, c.runners, c.token)
			} else if all := pages.visit(t, c.host, c.runners, c.token); !slices.Equal(all, []string{"refused", "over"}) {
				t.Errorf("the page tells %q", all)
			}
		})
	}
	s.stop(t)
}

// visited has a page do the task of a workflow.
func (s *studio) visited(t *testing.T, pages *site, host, runners, token string) {
	t.Helper()
	run, err := s.client.Start(t.Context(), "agent", "warp and weft", client.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if all := pages.visit(t, host, runners, token); !slices.Equal(all, []string{"connected", "over"}) {
		t.Errorf("the page tells %q", all)
	}
	said, err := client.Result[struct{ Agent, Origin, Input string }](t.Context(), run, "said")
	if err != nil || !strings.Contains(said.Agent, "Chrome") || !strings.HasPrefix(said.Origin, "http://"+host+":") || said.Input != "warp and weft" {
		t.Errorf("%+v, %v", said, err)
	}
	eventually(t, "its runner has gone", func(ctx context.Context) error {
		_, err := s.connected(ctx, "page")
		if errors.Is(err, errAbsent) {
			return nil
		}
		return cmp.Or(err, errors.New("it is connected"))
	})
}
