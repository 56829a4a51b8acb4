package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

// Options say which client is tried, and how.
type Options struct {
	Command  []string        // the program and its arguments
	Env      []string        // beside the process's own and the constants of this package: NAME=value
	Encoding frames.Encoding // that the client is asked to use
	Scale    float64         // of the client's times; 0: 0.02
	Only     []string        // names of cases; empty: all
	Parallel int             // cases at a time; 0: 8
}

// Result is what became of a case.
type Result struct {
	Name, About string
	Failure     string // empty: it is passed
	Output      string // of the client, the end of it; for people
}

const (
	defaultScale    = 0.02
	defaultParallel = 8
)

// one is a case.
type one struct {
	name, about string
	play        func(*trial)
}

// all are the cases, in the order of the protocol's list.
func all() []one {
	return slices.Concat(connecting(), commanding(), reporting(), keeping(), losing(), stopping())
}

// Cases are the names of all cases.
func Cases() []string {
	cases := all()
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.name
	}
	return names
}

// Run plays the cases, and tells of each as it ends. The error says that they could not be played.
func Run(ctx context.Context, o Options, tell func(Result)) error {
	if len(o.Command) == 0 {
		return errors.New("conformance: no command")
	}
	if o.Scale == 0 {
		o.Scale = defaultScale
	}
	if o.Scale < 0 || o.Scale > 1 {
		return fmt.Errorf("conformance: the scale is %v, want more than 0, and at most 1", o.Scale)
	}
	if o.Parallel == 0 {
		o.Parallel = defaultParallel
	}
	cases, err := chosen(o.Only)
	if err != nil {
		return err
	}
	slots, results := make(chan struct{}, o.Parallel), make(chan Result)
	var group sync.WaitGroup
	for _, c := range cases {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results <- try(ctx, o, c)
		})
	}
	go func() { group.Wait(); close(results) }()
	for r := range results {
		tell(r)
	}
	return ctx.Err()
}

func chosen(only []string) ([]one, error) {
	cases := all()
	if len(only) == 0 {
		return cases, nil
	}
	known := Cases()
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("conformance: there is no case %s: want of %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(cases, func(c one) bool { return !slices.Contains(only, c.name) }), nil
}

// try plays one case in a goroutine of its own, which a failure ends.
func try(ctx context.Context, o Options, c one) Result {
	t := &trial{ctx: ctx, options: o}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.leave()
		if err := t.serve(); err != nil {
			t.fail("the server cannot listen: %v", err)
		}
		c.play(t)
	}()
	<-done
	return Result{Name: c.name, About: c.about, Failure: t.failure, Output: t.output()}
}

// trial is a case as it is played.
type trial struct {
	ctx     context.Context
	options Options
	server  *server
	client  *client
	failure string
}

// fail ends the case.
func (t *trial) fail(format string, args ...any) {
	if t.failure == "" {
		t.failure = fmt.Sprintf(format, args...)
	}
	runtime.Goexit()
}

// check ends the case unless something holds.
func (t *trial) check(ok bool, format string, args ...any) {
	if !ok {
		t.fail(format, args...)
	}
}

// scaled is how long a time of the client is.
func (t *trial) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * t.options.Scale)
}

// patience is how long anything is waited for that should come at once, on a busy machine.
const patience = 15 * time.Second

// slack is how much later than said a busy machine may be.
const slack = 2 * time.Second

// within ends the case unless something took the client's time d, and no much longer.
func (t *trial) within(what string, took, d time.Duration) {
	want := t.scaled(d)
	t.check(took >= want*95/100 && took <= want+slack, "%s comes after %v, want %v", what, took, want)
}

// sleep waits.
func (t *trial) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.ctx.Done():
		t.fail("interrupted")
	}
}

func (t *trial) leave() {
	if t.client != nil {
		t.client.kill()
	}
	if t.server != nil {
		t.server.close()
	}
}

func (t *trial) output() string {
	if t.client == nil {
		return ""
	}
	return t.client.out.String()
}
