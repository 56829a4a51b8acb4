//go:build integration

package integration

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/test/ports"
)

const (
	partitions = 4
	tokenKey   = "integration tests, no secret"
	readyLimit = 60 * time.Second
)

// deployment is Heddle as four processes, or more, with topics of their own.
type deployment struct {
	t         *testing.T
	brokers   string
	prefix    string
	names     topics.Names
	dir       string
	processes map[string]*process
	api       *api
	shop      *shop
}

// deploy starts a deployment and waits until it is ready. planners is how many
// planner processes it has. Everything ends with the test.
func deploy(t *testing.T, planners int) *deployment {
	t.Helper()
	return deployOn(t, brokers, planners)
}

// deployOn does the same on another cluster.
func deployOn(t *testing.T, brokers string, planners int) *deployment {
	t.Helper()
	d := prepare(t, brokers)
	for i := range planners {
		d.add("planner", fmt.Sprintf("planner-%d", i+1))
	}
	d.add("executor", "executor")
	d.add("readiness", "readiness")
	d.api = &api{t: t, base: "http://" + d.add("gateway", "gateway")}
	d.ready()
	d.shared(planners)
	return d
}

// shared waits until each of some planners owns partitions: the first may have owned
// all of them, and been ready, before the next joined.
func (d *deployment) shared(planners int) {
	d.t.Helper()
	eventually(d.t, takeoverLimit, "every planner owns partitions", func() error {
		var all runtime.Aggregate
		if err := d.api.get("/v1/readiness", &all); err != nil {
			return err
		}
		owners := map[string]int{}
		for _, p := range all.Partitions {
			if p.Readiness.Ready && p.Authority.Owner != nil {
				owners[*p.Authority.Owner]++
			}
		}
		if !all.Ready || len(owners) < planners {
			return fmt.Errorf("ready %v, partitions by owner: %v", all.Ready, owners)
		}
		return nil
	})
}

// prepare makes the topics and the settings of a deployment without services.
func prepare(t *testing.T, brokers string) *deployment {
	t.Helper()
	d := &deployment{
		t:         t,
		brokers:   brokers,
		prefix:    "it-" + strings.ToLower(rand.Text()[:8]) + ".",
		dir:       t.TempDir(),
		processes: map[string]*process{},
		shop:      newShop(t),
	}
	var err error
	if d.names, err = topics.NewNames(d.prefix); err != nil {
		t.Fatal(err)
	}
	if err := d.applyTopics(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.end)
	d.configure()
	return d
}

// applyTopics makes those of the deployment's topics that are not there.
func (d *deployment) applyTopics() error {
	return d.heddle("topics", "apply", "--brokers", d.brokers, "--prefix", d.prefix, "--partitions", fmt.Sprint(partitions), "--queue", "shop")
}

// settings binds the queue shop to the test's HTTP service.
const settings = `
services:
  shop:
    url: %q
    allow_private: true
`

func (d *deployment) configure() {
	text := fmt.Sprintf(settings, d.shop.url+"/{task}")
	if err := os.WriteFile(filepath.Join(d.dir, "heddle.yaml"), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// add starts one more service, with more arguments than it needs, and returns the address
// that it serves HTTP on.
func (d *deployment) add(service, name string, more ...string) string {
	d.t.Helper()
	addr, err := ports.Free(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	args := []string{service, "--brokers", d.brokers, "--prefix", d.prefix, "--http", addr.String()}
	switch service {
	case "planner", "gateway":
		args = append(args, "--data", filepath.Join(d.dir, name))
	case "executor":
		args = append(args, "--config", filepath.Join(d.dir, "heddle.yaml"))
	}
	p := &process{name: name, args: append(args, more...), env: []string{"HEDDLE_TOKEN_KEY=" + tokenKey}, log: logFile(d.dir, name)}
	d.processes[name] = p
	p.start(d.t)
	return addr.String()
}

// heddle runs a command of the binary to its end.
func (d *deployment) heddle(args ...string) error {
	out, err := exec.CommandContext(d.t.Context(), binary, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("heddle %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// ready waits until the gateway says that everything works.
func (d *deployment) ready() {
	d.t.Helper()
	d.t.Logf("%s: services started", d.prefix)
	eventually(d.t, readyLimit, "the deployment is ready", func() error {
		for _, p := range d.processes {
			if err := p.failed(); err != nil {
				d.t.Fatal(err)
			}
		}
		return d.api.get("/readyz", nil)
	})
}

// end stops what still runs, which fails the test where something does not; of a failed test it shows what the services said.
func (d *deployment) end() {
	for _, p := range d.processes {
		if !p.running() {
			continue
		}
		if err := p.failed(); err != nil {
			d.t.Error(err)
		}
	}
	for _, p := range d.processes {
		switch {
		case !p.running() || p.failed() != nil:
		case d.t.Failed():
			p.quit(d.t)
		default:
			p.kill(d.t)
		}
		if d.t.Failed() {
			d.t.Logf("--- %s said:\n%s", p.name, p.said())
		}
	}
	if d.t.Failed() {
		return // the topics stay for a look at them
	}
	d.removeTopics()
}

// eventually tries again until check succeeds, and fails the test at the limit.
// The other side is processes and a broker in real time: nothing tells when.
func eventually(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s it is not so that %s: %v", limit, what, err)
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// statusError is an answer of the gateway that is no success.
type statusError struct {
	code int
	body string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.code, http.StatusText(e.code), e.body)
}
