package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// tally counts workflows by what became of the command.
type tally struct {
	Done      int            `json:"done"`
	Unchanged int            `json:"unchanged"`
	Written   int            `json:"written"` // in Kafka, not decided in time
	Refused   map[string]int `json:"refused"` // by code
	Failed    int            `json:"failed"`
}

func (t *tally) add(r client.BulkResult) {
	switch r.Outcome {
	case client.BulkDone:
		t.Done++
	case client.BulkUnchanged:
		t.Unchanged++
	case client.BulkWritten:
		t.Written++
	case client.BulkRefused:
		refused, _ := errors.AsType[*client.Error](r.Err)
		if t.Refused == nil {
			t.Refused = map[string]int{}
		}
		t.Refused[refused.Code]++
	case client.BulkFailed:
		t.Failed++
	}
}

func (t *tally) refused() (n int) {
	for _, one := range t.Refused {
		n += one
	}
	return n
}

func (t *tally) all() int { return t.Done + t.Unchanged + t.Written + t.refused() + t.Failed }

// String says what there is of each, as 118 done, 2 refused (2 closed).
func (t *tally) String() string {
	parts := []string{fmt.Sprintf("%d done", t.Done)}
	for _, p := range []struct {
		n    int
		text string
	}{{t.Unchanged, "unchanged"}, {t.Written, "written and not decided yet"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
		}
	}
	if n := t.refused(); n > 0 {
		var codes []string
		for _, code := range slices.Sorted(maps.Keys(t.Refused)) {
			codes = append(codes, fmt.Sprintf("%d %s", t.Refused[code], shown(code)))
		}
		parts = append(parts, fmt.Sprintf("%d refused (%s)", n, strings.Join(codes, ", ")))
	}
	if t.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", t.Failed))
	}
	return strings.Join(parts, ", ")
}

const (
	saveEvery   = 200 * time.Millisecond
	maxTroubles = 20 // that are told one by one
)

// summary is what an operation has come to.
type summary struct {
	Operation string `json:"operation"`
	Command   string `json:"command"`
	tally
	Resume string `json:"resume,omitempty"` // the command that goes on with it; empty: it is done
}

// run gives the commands, from where the operation was left.
func (o *operation) run(a *app, cl *client.Client) error {
	filter, err := client.ParseFilter(o.Where)
	if err != nil {
		return fmt.Errorf("the filter of operation %s: %w", o.ID, err)
	}
	filter.Cursor = o.Cursor
	o.Stopped = false
	if err := o.save(); err != nil {
		return err
	}
	p := newBulkProgress(a.err, isTerminal(a.err), o)
	p.begin()
	err = o.each(a, cl, filter, p)
	p.end()
	return o.close(a, err)
}

// each goes through the results, and keeps how far it is.
func (o *operation) each(a *app, cl *client.Client, filter client.Filter, p *bulkProgress) error {
	saved := time.Now()
	for r, err := range cl.Bulk(a, o.Order.command(), client.BulkOptions{Operation: o.ID, Where: filter, Rate: o.Rate}) {
		if err != nil {
			o.Stopped = r.InHand == 0
			return err
		}
		o.Tally.add(r)
		o.Cursor = r.Next
		p.result(r)
		if time.Since(saved) < saveEvery {
			continue
		}
		if err := o.save(); err != nil {
			return err
		}
		saved = time.Now()
	}
	return nil
}

// close tells what the operation has come to, and forgets it if it is done.
func (o *operation) close(a *app, err error) error {
	s := summary{Operation: o.ID, Command: o.Order.Command, tally: o.Tally}
	if err == nil {
		err = o.remove()
	} else {
		s.Resume = fmt.Sprintf("heddle %s --resume %s", o.Order.Command, o.ID)
		err = errors.Join(err, o.save())
	}
	printed := a.print(s, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s\n", o.Order.Command, o.Tally.String())
		if s.Resume != "" {
			fmt.Fprintf(w, "It is not done. Go on with: %s\n", s.Resume)
		}
	})
	if err == nil && o.Tally.refused()+o.Tally.Failed > 0 {
		err = fmt.Errorf("of %d workflows %d were refused and %d failed", o.Tally.all(), o.Tally.refused(), o.Tally.Failed)
	}
	return errors.Join(err, printed)
}
