package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// manyArgs are what commands take that are given to one workflow, or to each that a
// filter chooses.
type manyArgs struct {
	ID  string `arg:"" optional:"" help:"The workflow; without it --where says which."`
	By  string `env:"-" help:"Who asks; kept in the history."`
	Why string `env:"-" help:"Why; kept in the history."`

	whereArgs `group:"Many workflows"`
	DryRun    bool   `env:"-" group:"Many workflows" help:"With --where: say how many fit, and the first of them; send nothing."`
	Rate      string `env:"-" group:"Many workflows" placeholder:"N/s" help:"With --where: how many commands at most in a second (s), minute (m) or hour (h), or none for no limit; without it 100/s."`
	Yes       bool   `env:"-" group:"Many workflows" short:"y" help:"With --where: do not ask."`
	Resume    string `env:"-" group:"Many workflows" placeholder:"OPERATION" help:"Go on with an operation that was interrupted, behind what it has done."`

	remote
}

// one is the command to a single workflow.
func (c *manyArgs) one() (*controlArgs, error) {
	if c.ID == "" {
		return nil, usageError("name a workflow, or say by --where which ones are meant")
	}
	if c.DryRun || c.Rate != "" || c.Yes {
		return nil, usageError("--dry-run, --rate and --yes go with --where")
	}
	return &controlArgs{remote: c.remote, ID: c.ID, By: c.By, Why: c.Why}, nil
}

// do gives the command to a single workflow.
func (c *manyArgs) do(a *app, send func(cl *client.Client) (*client.Workflow, error)) error {
	one, err := c.one()
	if err != nil {
		return err
	}
	return one.do(a, send)
}

func (c *manyArgs) by() client.By { return client.By{Who: c.By, Why: c.Why} }

// many reports whether the command is for many workflows.
func (c *manyArgs) many() bool { return len(c.Where) > 0 || c.Resume != "" }

// bulkOrder is what is done to each workflow, as it is kept for later.
type bulkOrder struct {
	Command   string          `json:"command"`
	Component string          `json:"component,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Force     bool            `json:"force,omitempty"`
	By        string          `json:"by,omitempty"`
	Why       string          `json:"why,omitempty"`
}

// given reports whether anything is said besides the command.
func (o bulkOrder) given() bool {
	return o.Component != "" || len(o.Input) > 0 || o.Force || o.By != "" || o.Why != ""
}

func (o bulkOrder) command() client.BulkCommand {
	by := client.By{Who: o.By, Why: o.Why}
	switch o.Command {
	case "cancel":
		return client.BulkCancel(by)
	case "skip":
		return client.BulkSkip(o.Component, by)
	case "delete":
		return client.BulkDelete(o.Force, by)
	}
	retry := client.RetryOptions{Component: o.Component, By: by}
	if len(o.Input) > 0 {
		retry.Input = o.Input
	}
	return client.BulkRetry(retry)
}

// bulk gives an order to many workflows.
func (c *manyArgs) bulk(a *app, order bulkOrder) error {
	order.By, order.Why = c.By, c.Why
	switch {
	case c.ID != "":
		return usageError("%q is one workflow, and --where and --resume are about many; name it, or give them", c.ID)
	case c.Resume != "" && (len(c.Where) > 0 || c.DryRun || order.given()):
		return usageError("--resume goes on as the operation began; besides it only --rate may be given")
	}
	rate, err := parseRate(c.Rate)
	if err != nil {
		return err
	}
	op, err := c.operation(order, rate)
	if err != nil {
		return err
	}
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	if c.DryRun {
		return dryRun(a, cl, op)
	}
	if c.Resume == "" {
		if err := c.confirm(a, cl, op); err != nil {
			return err
		}
	}
	return op.run(a, cl)
}

// operation is a new one, or the one to go on with.
func (c *manyArgs) operation(order bulkOrder, rate float64) (*operation, error) {
	if c.Resume != "" {
		op, err := resumed(c.Resume, order.Command, time.Now())
		if err == nil && c.Rate != "" {
			op.Rate = rate
		}
		return op, err
	}
	filter, err := c.filter()
	if err != nil {
		return nil, err
	}
	if filter.String() == "" {
		return nil, usageError("--where is empty, which means every workflow; name a condition that holds for all of them, as created_before=0s")
	}
	return &operation{ID: client.NewOperation(), Order: order, Where: filter.String(), Rate: rate, Tally: tally{Refused: map[string]int{}}}, nil
}

// usualRate is how many commands a second are sent where nothing is said.
const usualRate = 100

// parseRate reads a rate as 100/s; it is per second, and 0 for none.
func parseRate(text string) (float64, error) {
	switch text {
	case "":
		return usualRate, nil
	case "none":
		return 0, nil
	}
	digits, unit, _ := strings.Cut(text, "/")
	seconds := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
	var n float64
	if _, err := fmt.Sscanf(digits+" ", "%g ", &n); err != nil || seconds == 0 || !(n > 0) || n > 1e6 || strings.ContainsAny(digits, " \t") {
		return 0, usageError("--rate %q is not a number for a second, minute or hour, as 100/s, 10/m or 5/h, nor none", text)
	}
	return n / seconds, nil
}

// found is what a filter chooses.
type found struct {
	Count int               `json:"count"`
	More  bool              `json:"more"` // there are more than were counted
	First []client.Workflow `json:"first"`
}

const (
	maxCounted = 100_000
	maxFirst   = 10
	countPage  = 1000
)

// count counts the workflows that an operation means.
func count(ctx context.Context, cl *client.Client, where string) (found, error) {
	all := found{First: []client.Workflow{}}
	f, err := client.ParseFilter(where)
	if err != nil {
		return all, err
	}
	f.Limit = countPage
	for {
		page, err := cl.List(ctx, f)
		if err != nil {
			return all, err
		}
		all.Count += len(page.Items)
		all.First = append(all.First, page.Items[:min(len(page.Items), maxFirst-len(all.First))]...)
		if f.Cursor = page.Next; f.Cursor == "" {
			return all, nil
		}
		if all.Count >= maxCounted {
			all.More = true
			return all, nil
		}
	}
}

// say prints how many there are, and the first of them.
func (f found) say(w io.Writer, verb string) {
	printList(w, f.First)
	switch rest := f.Count - len(f.First); {
	case f.More:
		fmt.Fprintf(w, "and at least %d more\n", rest)
	case rest > 0:
		fmt.Fprintf(w, "and %d more\n", rest)
	}
	fmt.Fprintf(w, "%s %s\n", verb, f.workflows())
}

func (f found) workflows() string {
	switch {
	case f.More:
		return fmt.Sprintf("more than %d workflows", f.Count)
	case f.Count == 1:
		return "1 workflow"
	}
	return fmt.Sprintf("%d workflows", f.Count)
}

func dryRun(a *app, cl *client.Client, op *operation) error {
	all, err := count(a, cl, op.Where)
	if err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) { all.say(w, "Nothing was sent. It would "+op.Order.Command) })
}

func nobodyAnswers(verb string) error {
	return usageError("give --yes to %s all that --where means, or --dry-run to see which; it asks on a terminal only", verb)
}

// errNotConfirmed is what an operation ends with that nobody wanted after all.
var errNotConfirmed = errors.New("nothing was sent")

// confirm asks, where somebody can answer, and needs --yes where nobody can.
func (c *manyArgs) confirm(a *app, cl *client.Client, op *operation) error {
	asks := isTerminal(a.in) && !c.Yes
	if !asks && !c.Yes {
		return nobodyAnswers(op.Order.Command)
	}
	if !asks && !isTerminal(a.err) {
		return nil // nobody looks on
	}
	all, err := count(a, cl, op.Where)
	if err != nil {
		return err
	}
	if !all.More {
		op.Total = all.Count
	}
	if !asks || all.Count == 0 {
		return nil
	}
	return ask(a.in, a.err, all, op.Order.Command)
}

// ask returns when somebody has said yes.
func ask(in io.Reader, out io.Writer, all found, verb string) error {
	all.say(out, "This will "+verb)
	fmt.Fprint(out, "Go on? [y/N] ")
	line, err := bufio.NewReader(in).ReadString('\n')
	switch {
	case errors.Is(err, io.EOF) && line == "": // /dev/null looks like a terminal
		fmt.Fprintln(out)
		return nobodyAnswers(verb)
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("reading the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errNotConfirmed
}
