package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/heddle-run/heddle/internal/request"
	"github.com/heddle-run/heddle/shared/events"
)

// waiting is what ?wait= asks for.
type waiting struct {
	accepted bool
	drained  time.Duration // 0: do not wait for the end of the work
}

func (w waiting) waits() bool { return w.accepted || w.drained > 0 }

// patience is how long a request waits at most.
func (g *Gateway) patience(w waiting) time.Duration {
	if w.drained > 0 {
		return w.drained
	}
	return g.limits.Answer
}

func (g *Gateway) parseWait(r *http.Request) (waiting, error) {
	text := r.URL.Query().Get("wait")
	switch text {
	case "":
		return waiting{}, nil
	case "accepted":
		return waiting{accepted: true}, nil
	}
	d, err := g.parseWaitTime(text)
	return waiting{drained: d}, err
}

func (g *Gateway) parseWaitTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, refuseField("invalid_parameter", "wait", fmt.Sprintf("%q is neither accepted nor a duration as 30s", text))
	}
	if d > g.limits.Wait {
		return 0, refuseField("invalid_parameter", "wait", fmt.Sprintf("the limit is %s", g.limits.Wait))
	}
	return d, nil
}

// maxKey is the longest Idempotency-Key.
const maxKey = 255

var (
	keyPattern   = regexp.MustCompile(`^[\x21-\x7e]+$`)
	tracePattern = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)
)

// newCommand makes a command of a request: its Idempotency-Key is the id.
func newCommand(r *http.Request, name, workflow string, body []byte) (request.Command, error) {
	c := request.Command{Name: name, Workflow: workflow, ID: r.Header.Get("Idempotency-Key"), Body: body}
	if c.ID != "" && (len(c.ID) > maxKey || !keyPattern.MatchString(c.ID)) {
		return c, refuseField("invalid_parameter", "Idempotency-Key", fmt.Sprintf("want at most %d visible ASCII characters", maxKey))
	}
	if trace := r.Header.Get(events.HeaderTrace); tracePattern.MatchString(trace) {
		c.Trace = trace
	}
	return c, nil
}

// checkCommand refuses here what a planner could not understand.
func checkCommand(c request.Command) error {
	typ := []events.Header{{Key: events.HeaderType, Value: []byte(events.CommandType(c.Name))}}
	_, err := events.ParseCommand([]byte(c.Workflow), typ, c.Body, "")
	if err == nil {
		return nil
	}
	if err.Code == "invalid_workflow_id" {
		err.Path = "id"
	}
	return refuseField(err.Code, err.Path, err.Message)
}

// command sends a command, waits as asked, and answers.
func (g *Gateway) command(w http.ResponseWriter, r *http.Request, c request.Command, wait waiting, o outcome) error {
	if err := g.admit(r.Context(), c.Workflow); err != nil {
		return err
	}
	if !wait.waits() {
		id, err := g.requests.Send(r.Context(), c)
		if err != nil {
			return err
		}
		return g.accepted(w, r, c.Workflow, id, nil)
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.patience(wait))
	defer cancel()
	if wait.drained > 0 {
		return g.untilDrained(ctx, w, r, c)
	}
	call, err := g.requests.Call(ctx, c, false)
	if err != nil {
		return err
	}
	defer call.Close()
	reply, err := call.Decided(ctx)
	return g.decided(w, r, c.Workflow, call.ID, reply, err, o)
}

// outcome is how a decision is told.
type outcome struct {
	status int                                               // when it was done
	body   func(result string, workflow json.RawMessage) any // of the answer
}

// decided answers with a decision. A planner that does not answer is no reason
// to refuse what Kafka has.
func (g *Gateway) decided(w http.ResponseWriter, r *http.Request, workflow, command string, reply events.Reply, err error, o outcome) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, request.ErrUnavailable) {
		return g.accepted(w, r, workflow, command, nil)
	}
	if err != nil {
		return err
	}
	summary, err := g.summary(reply.Body)
	if err != nil {
		return err
	}
	if reply.Refusal != nil {
		reply.Body = summary
		return refused(reply)
	}
	return writeJSON(w, r, o.status, o.body(reply.Result, orNull(summary)))
}

// summary is a workflow as planners tell it, with its owner; nothing stays nothing.
func (g *Gateway) summary(workflow json.RawMessage) (json.RawMessage, error) {
	if len(workflow) == 0 || string(workflow) == "null" {
		return nil, nil
	}
	return g.withOwner(workflow)
}

// untilDrained sends a command and answers when the work is done, or with where
// to look. Of the decision only a refusal matters.
func (g *Gateway) untilDrained(ctx context.Context, w http.ResponseWriter, r *http.Request, c request.Command) error {
	call, err := g.requests.CallEnd(ctx, c)
	if err != nil {
		return err
	}
	defer call.Close()
	d, err := call.Drained(ctx, c.Workflow)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, request.ErrUnavailable):
		return g.accepted(w, r, c.Workflow, call.ID, d.Workflow)
	case err != nil:
		return err
	}
	summary, err := g.summary(d.Workflow)
	if err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, Started{orNull(summary), orNull(d.Results)})
}

// accepted answers what is safe in Kafka and not decided or drained yet.
func (g *Gateway) accepted(w http.ResponseWriter, r *http.Request, workflow, command string, known json.RawMessage) error {
	summary, err := g.summary(known)
	if err != nil {
		return err
	}
	href := "/v1/workflows/" + url.PathEscape(workflow)
	if name, err := events.ParsePoolID(workflow); err == nil {
		href = "/v1/pools/" + url.PathEscape(name)
	}
	if p, ok := events.PartitionOf(workflow); ok {
		href = fmt.Sprintf("/v1/readiness/%d", p)
	}
	w.Header().Set("Location", href)
	return writeJSON(w, r, http.StatusAccepted, Accepted{
		ID: workflow, Command: command, Href: href, Workflow: orNull(summary), Results: null,
	})
}
