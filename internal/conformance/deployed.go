package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/frames"
)

// ServerOptions say which deployment RunServer tries. Its settings of pools and runners are the defaults.
type ServerOptions struct {
	URLs     []string        // of executors, as runners have them: ws://HOST:PORT, with frames.Path or without a path; with several, runners move between them
	Token    string          // that runners connect with; empty: none, and no case is about tokens
	Encoding frames.Encoding // of frames
	HTTP     *http.Client    // that sockets are opened by; nil: one of its own
	API      *client.Client  // of the deployment
	Only     []string        // names of cases; empty: all
	Parallel int             // cases at a time; 0: all
}

// served are the cases of servers, in the order of the protocol's list.
func served() []one[*probe] {
	return slices.Concat(accepting(), ordering(), counting(), allotting(), missing(), leaving(), misbehaving(), wanting())
}

// withTokens are the cases that a deployment without tokens is not tried with.
var withTokens = []string{"T01"}

// ServerCases are the names of all cases that deployments are tried with.
func ServerCases() []string { return names(served()) }

// definition is what all cases start: a step, of a pool that the run's policies name.
const (
	definitionName = "heddle-conformance"
	definition     = `{"name": "heddle-conformance", "version": "1", "components": {"run": {"step": "conformance.scripted"}}, "outputs": {"run": "run"}}`
)

// RunServer tries a deployment with scripted runners, and tells of each case as it ends. Each has a pool of its own, and deletes the
// workflows that it has started. The error says that the cases could not be played.
func RunServer(ctx context.Context, o ServerOptions, tell func(Result)) error {
	for i, text := range o.URLs {
		address, err := connectTo(text)
		if err != nil {
			return err
		}
		if i == 0 {
			o.URLs = slices.Clone(o.URLs)
		}
		o.URLs[i] = address
	}
	if len(o.URLs) == 0 || o.API == nil {
		return errors.New("conformance: no URL that runners connect to, or no API")
	}
	cases := served()
	if o.Token == "" && len(o.Only) == 0 {
		cases = slices.DeleteFunc(cases, func(c one[*probe]) bool { return slices.Contains(withTokens, c.name) })
	}
	cases, err := chosen(cases, o.Only)
	if err != nil {
		return err
	}
	if o.Parallel == 0 {
		o.Parallel = len(cases)
	}
	if _, err := o.API.Define(ctx, definitionName, []byte(definition)); err != nil {
		return fmt.Errorf("conformance: %w", err)
	}
	series := strings.ToLower(rand.Text()[:8])
	return each(ctx, cases, o.Parallel, func(c one[*probe]) Result {
		p := &probe{judged: judged{ctx: ctx}, options: o, pool: "conformance-" + series + "-" + strings.ToLower(c.name)}
		p.play(p.leave, func() { c.play(p) })
		return Result{Name: c.name, About: c.about, Failure: p.failure}
	}, tell)
}

// connectTo is the address of sockets, without a query.
func connectTo(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("conformance: the URL of runners: %w", err)
	}
	if !slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme) || u.Host == "" || u.RawQuery != "" || !slices.Contains([]string{"", "/", frames.Path}, u.Path) {
		return "", fmt.Errorf("conformance: the URL of runners is %q, want ws://HOST:PORT", text)
	}
	u.Path = frames.Path
	return u.String(), nil
}

// probe is a deployment as it is tried by one case.
type probe struct {
	judged
	options ServerOptions
	pool    string
	sockets []*scripted
	started []string // IDs of workflows
}

// leave ends what a case has begun.
func (p *probe) leave() {
	for _, r := range p.sockets {
		r.hush()
		_ = r.conn.CloseNow() // it may be closed already
		for range r.in {      // so that line.read ends
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), patience)
	defer cancel()
	for _, id := range p.started {
		if err := p.options.API.Delete(ctx, id, true, client.By{Who: definitionName}); err != nil && p.failure == "" {
			p.failure = fmt.Sprintf("a workflow cannot be deleted: %v", err)
		}
	}
}

// start starts a workflow whose one step is the pool's.
func (p *probe) start(name string, rules ...map[string]any) (id string) {
	id = p.pool + "-" + name
	rules = append(rules, map[string]any{"match": "default", "executor": "pool:" + p.pool})
	p.started = append(p.started, id)
	_, err := p.options.API.Start(p.ctx, definitionName, name, client.StartOptions{ID: id, Policies: rules})
	p.check(err == nil, "a workflow does not start: %v", err)
	return id
}

// result ends the case unless a workflow has the result of its step that it should have.
func (p *probe) result(id, want string) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	got, err := client.Result[string](ctx, p.options.API.Run(id), "run")
	p.check(err == nil && got == want, "the result of %s is %q, %v; want %q", id, got, err, want)
}

// until is the runner of the pool with a key, once something holds of it; the newest of its sessions.
func (p *probe) until(key, what string, limit time.Duration, holds func(*client.Runner) bool) *client.Runner {
	var last string
	for end := time.Now().Add(limit); ; p.sleep(look) {
		page, err := p.options.API.Runners(p.ctx, client.RunnerFilter{Pool: p.pool, Limit: 100})
		p.check(err == nil, "the runners cannot be listed: %v", err)
		var found *client.Runner
		for i := range page.Items {
			if r := &page.Items[i]; r.Key == key && (found == nil || r.State != stopped) {
				found = r
			}
		}
		if found != nil {
			last = fmt.Sprintf("%+v", *found)
			if holds(found) {
				return found
			}
		}
		p.check(time.Now().Before(end), "the runner %s is not %s after %v; it is %s", key, what, limit, last)
	}
}

// look is the time between two looks at the runners.
const look = 50 * time.Millisecond

// States of runners, as the API has them.
const (
	connected = "connected"
	lost      = "lost"
	draining  = "draining"
	stopped   = "stopped"
)

// is waits until a runner is in a state.
func (p *probe) is(key, state string) *client.Runner {
	return p.until(key, state, patience, func(r *client.Runner) bool { return r.State == state })
}
