package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/heddle-run/heddle/examples/orders"
)

// report reads every order's history, prints what happened, and says what is
// not as it should be.
func (d *demo) report(ctx context.Context) error {
	stories := map[string]*story{}
	var wrong []error
	for _, c := range d.progress.cases {
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
	l, ok := d.progress.line(c.ID)
	if !ok {
		return fmt.Errorf("order %s has not ended", c.ID)
	}
	if err := c.Check(string(l.workflow.Status), l.result); err != nil {
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
	for _, c := range d.progress.cases {
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
		if l, ok := d.progress.line(c.ID); ok {
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

func (d *demo) printEnd(stories map[string]*story) {
	var took []time.Duration
	attempts, retries, events := 0, 0, 0
	for id, s := range stories {
		if l, ok := d.progress.line(id); ok {
			took = append(took, l.took)
		}
		attempts, retries, events = attempts+s.dispatch, retries+s.retries, events+len(s.events)
	}
	slices.Sort(took)
	d.printf("%d orders, %d attempts, %d retries, %d events in the journal; an order took %s (median) to %s.",
		len(took), attempts, retries, events, round(took[len(took)/2]), round(took[len(took)-1]))
	d.printf("Every order ended exactly once and as expected; %d payments were taken, none of them twice.", len(d.shop.Payments()))
}
