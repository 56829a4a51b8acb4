package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// runnersCmd is what concerns the runners of pools.
type runnersCmd struct {
	List runnersListCmd `cmd:"" default:"withargs" help:"List the runners of all pools, or of one: state, slots, when something was heard of them."`
	Stop runnersStopCmd `cmd:"" help:"Stop a runner: it gets no more work, and ends once it has none. An API key needs the role operate."`
}

// runnersListCmd lists runners.
type runnersListCmd struct {
	remote
	Pool  string `env:"-" placeholder:"NAME" help:"Only those of this pool."`
	Limit int    `env:"-" default:"100" help:"How many are listed at most; 0 is all."`
}

// Run implements the command.
func (c *runnersListCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	all, err := collect(c.Limit, func(cursor string, limit int) (*client.Page[client.Runner], error) {
		return cl.Runners(a, client.RunnerFilter{Pool: c.Pool, Cursor: cursor, Limit: limit})
	})
	if err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) { printRunners(w, all.Items, time.Now()) })
}

func printRunners(out io.Writer, all []client.Runner, now time.Time) {
	table := [][]string{{"RUNNER", "KEY", "NAME", "VERSION", "STATE", "USED", "SEEN", "WHY"}}
	for i := range all {
		r := &all[i]
		table = append(table, []string{
			r.ID, r.Key, r.Name, fmt.Sprint(r.Version), r.State, fmt.Sprintf("%d of %d", r.Used, r.Slots), ago(r.SeenTS, now), cmp.Or(r.Passed, r.Reason),
		})
	}
	rows(out, table)
}

// runnersStopCmd stops a runner.
type runnersStopCmd struct {
	remote
	Pool   string `arg:"" help:"The pool."`
	Runner string `arg:"" help:"The runner: its id, or the key that it connects with, as heddle runners shows them."`
	Now    bool   `env:"-" help:"At once: what it has is lost, and its policy says what becomes of that."`
	By     string `env:"-" required:"" help:"Who asks; kept in the journal."`
	Why    string `env:"-" required:"" help:"Why; kept in the journal."`
}

// stoppedRunner is what has become of the word.
type stoppedRunner struct {
	Pool   string `json:"pool"`
	Runner string `json:"runner"`
	Obeyed bool   `json:"obeyed"` // false: no planner has answered yet
}

// Run implements the command.
func (c *runnersStopCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	obeyed, err := cl.StopRunner(a, c.Pool, c.Runner, client.StopRunnerOptions{Now: c.Now, By: client.By{Who: c.By, Why: c.Why}})
	if err != nil {
		return err
	}
	done := "it gets no more work, and ends once it has none"
	if c.Now {
		done = "it is over, and so is what it had"
	}
	return a.print(stoppedRunner{c.Pool, c.Runner, obeyed}, func(w io.Writer) {
		fmt.Fprintf(w, "runner %s: %s; what it is at: heddle runners --pool %s\n", shown(c.Runner), orUnanswered(obeyed, done), shown(c.Pool))
	})
}
