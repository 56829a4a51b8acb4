package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

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

// printStory prints the history of an order with retries that was open when the
// planner died, if there is one; else of any with retries.
func (d *demo) printStory(stories map[string]*story) {
	best := ""
	for _, c := range d.progress.cases {
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
