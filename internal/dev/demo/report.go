package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/heddle-run/heddle/examples/orders"
	"github.com/heddle-run/heddle/sdk/client"
)

// report reads every order's history, prints what happened, and says what is
// not as it should be.
func (d *demo) report(ctx context.Context) error {
	stories := map[string]*story{}
	var wrong []error
	for _, c := range d.board.cases {
		s, err := d.read(ctx, c.ID)
		if err != nil {
			return err
		}
		stories[c.ID] = s
		wrong = append(wrong, d.check(c, s))
	}
	d.printKinds(stories)
	d.printStory(stories)
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	d.printEnd(stories)
	return nil
}

// check compares an order's end with what was expected, and its history and
// payments with "once".
func (d *demo) check(c orders.Case, s *story) error {
	l, ok := d.board.line(c.ID)
	if !ok {
		return fmt.Errorf("order %s has not ended", c.ID)
	}
	if err := c.Check(l.workflow.Status, l.result); err != nil {
		return err
	}
	if s.ended != 1 || s.repeated > 0 {
		return fmt.Errorf("order %s ended %d times, and %d steps were applied more than once", c.ID, s.ended, s.repeated)
	}
	want := 1
	if c.Expect.Outcome == "declined" {
		want = 0
	}
	if got := d.shop.Payments()[c.ID]; got != want {
		return fmt.Errorf("order %s was charged %d times, expected %d", c.ID, got, want)
	}
	return nil
}

// story is what the history tells of one order.
type story struct {
	events    []client.Event
	ended     int
	retries   int
	dispatch  int
	repeated  int // runnables that completed more than once
	completed map[string]int
}

// read reads an order's history.
func (d *demo) read(ctx context.Context, id string) (*story, error) {
	s := &story{completed: map[string]int{}}
	o := client.PageOptions{Limit: 200}
	for {
		page, err := d.cl.History(ctx, id, o)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Items {
			if err := s.event(e); err != nil {
				return nil, fmt.Errorf("the history of %s: %w", id, err)
			}
		}
		if page.Next == "" {
			return s, nil
		}
		o.Cursor = page.Next
	}
}

func (s *story) event(e client.Event) error {
	s.events = append(s.events, e)
	var f struct {
		Runnable string `json:"runnable"`
	}
	if err := json.Unmarshal(e.Fields, &f); err != nil {
		return err
	}
	switch e.Type {
	case "WorkflowCompleted", "WorkflowFailed":
		s.ended++
	case "RunnableDispatched":
		s.dispatch++
	case "RetryScheduled":
		s.retries++
	case "RunnableCompleted":
		s.completed[f.Runnable]++
		if s.completed[f.Runnable] == 2 {
			s.repeated++
		}
	}
	return nil
}

// about says what each kind of order is there for.
var about = map[string]string{
	"small":        "the usual way",
	"large":        "over 1,000.00: a person looks at it first",
	"gift":         "wrapped before it is sent",
	"flaky":        "the carrier is down at first; retries with backoff",
	"slow":         "the carrier takes its time",
	"no-points":    "the points programme fails; its policy says skip",
	"declined":     "the card is declined; the other branch says sorry",
	"unapproved":   "the review says no",
	"out-of-stock": "cannot be sent: fails for good, the workflow halts",
}

func (d *demo) printKinds(stories map[string]*story) {
	type row struct {
		orders, attempts, retries int
		outcome                   string
		slowest                   time.Duration
	}
	kinds := map[string]*row{}
	var order []string
	for _, c := range d.board.cases {
		r := kinds[c.Kind]
		if r == nil {
			r = &row{outcome: c.Expect.Outcome}
			if r.outcome == "" {
				r.outcome = c.Expect.Status
			}
			kinds[c.Kind], order = r, append(order, c.Kind)
		}
		r.orders++
		r.attempts += stories[c.ID].dispatch
		r.retries += stories[c.ID].retries
		if l, ok := d.board.line(c.ID); ok {
			r.slowest = max(r.slowest, l.took)
		}
	}
	tab := tabwriter.NewWriter(d.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "ORDERS\tKIND\tENDED\tATTEMPTS\tRETRIES\tSLOWEST\t")
	for _, kind := range order {
		r := kinds[kind]
		fmt.Fprintf(tab, "%d\t%s\t%s\t%d\t%d\t%s\t%s\n", r.orders, kind, r.outcome, r.attempts, r.retries, round(r.slowest), about[kind])
	}
	tab.Flush()
	fmt.Fprintln(d.Out)
}

// printStory prints the history of an order with retries that was open when the
// planner died, if there is one; else of any with retries.
func (d *demo) printStory(stories map[string]*story) {
	best := ""
	for _, c := range d.board.cases {
		if s := stories[c.ID]; s.retries > 0 && (best == "" || slow(s) > slow(stories[best])) {
			best = c.ID
		}
	}
	if best == "" {
		return
	}
	d.printf("The history of %s, every decision in order (all of it: heddle history):", best)
	printEvents(d.Out, stories[best])
	fmt.Fprintln(d.Out)
}

// slow is the time from a story's begin to its end.
func slow(s *story) time.Duration {
	return s.events[len(s.events)-1].Time.Sub(s.events[0].Time)
}

// told are the events that the summary of a history shows.
var told = []string{
	"WorkflowStarted", "RunnableCompleted", "RunnableFailed", "RetryScheduled", "BranchNotTaken",
	"TimerArmed", "TimerFired", "RunnableSuppressed", "WorkflowIdle", "WorkflowCompleted", "WorkflowFailed",
}

func printEvents(w io.Writer, s *story) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	began := s.events[0].Time
	for _, e := range s.events {
		if !slices.Contains(told, e.Type) {
			continue
		}
		var f struct {
			Component string          `json:"component"`
			Value     json.RawMessage `json:"value"`
			Error     *struct {
				Type    string `json:"type"`
				Message string `json:"message"`
			} `json:"error"`
		}
		detail := ""
		if json.Unmarshal(e.Fields, &f) == nil {
			detail = string(f.Value)
			if f.Error != nil {
				detail = f.Error.Type + ": " + f.Error.Message
			}
		}
		fmt.Fprintf(tab, "  %6.3fs\t%s\t%s\t%s\n", e.Time.Sub(began).Seconds(), e.Type, f.Component, shorten(detail, 64))
	}
	tab.Flush()
}

// shorten cuts a text to so many characters.
func shorten(s string, most int) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

func (d *demo) printEnd(stories map[string]*story) {
	var took []time.Duration
	attempts, retries, events := 0, 0, 0
	for id, s := range stories {
		if l, ok := d.board.line(id); ok {
			took = append(took, l.took)
		}
		attempts, retries, events = attempts+s.dispatch, retries+s.retries, events+len(s.events)
	}
	slices.Sort(took)
	d.printf("%d orders, %d attempts, %d retries, %d events in the journal; an order took %s (median) to %s.",
		len(took), attempts, retries, events, round(took[len(took)/2]), round(took[len(took)-1]))
	d.printf("Every order ended exactly once and as expected; %d payments were taken, none of them twice.", len(d.shop.Payments()))
}
