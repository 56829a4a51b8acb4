package conformance

import (
	"cmp"
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

// Options say which client Run tries, and how.
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
	Among       string // why it was not passed at first, among others that were played at the time; empty: it was
	Output      string // of the client, the end of it; for people
}

const (
	defaultScale    = 0.02
	defaultParallel = 8
)

// one is a case, which is played with a T.
type one[T any] struct {
	name, about string
	play        func(T)
}

// all are the cases of clients, in the order of the protocol's list.
func all() []one[*trial] {
	return slices.Concat(connecting(), commanding(), reporting(), keeping(), tunnelling(), wishing(), losing(), stopping())
}

// Cases are the names of all cases that clients are tried with.
func Cases() []string { return names(all()) }

func names[T any](cases []one[T]) []string {
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.name
	}
	return names
}

// Run tries a client, and tells of each case as it ends. One that fails among others is played again by itself once they are over, which
// counts: a machine that is busy with all of them may be later than the short times of clients allow. The error says that the cases could
// not be played.
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
	cases, err := chosen(all(), o.Only)
	if err != nil {
		return err
	}
	among := map[string]Result{}
	err = each(ctx, cases, cmp.Or(o.Parallel, defaultParallel), func(c one[*trial]) Result { return try(ctx, o, c) }, func(r Result) {
		if r.Failure != "" && len(cases) > 1 {
			among[r.Name] = r
			return
		}
		tell(r)
	})
	for _, c := range cases {
		r, failed := among[c.name]
		if failed && err == nil {
			why := r.Failure
			r = try(ctx, o, c)
			r.Among = why
		}
		if failed {
			tell(r)
		}
	}
	return err
}

// try plays a case with a client.
func try(ctx context.Context, o Options, c one[*trial]) Result {
	t := &trial{judged: judged{ctx: ctx}, options: o}
	t.play(t.leave, func() {
		if err := t.serve(); err != nil {
			t.fail("the server cannot listen: %v", err)
		}
		c.play(t)
	})
	return Result{Name: c.name, About: c.about, Failure: t.failure, Output: t.output()}
}

// chosen are the cases with the names that are asked for; of none, all.
func chosen[T any](cases []one[T], only []string) ([]one[T], error) {
	if len(only) == 0 {
		return cases, nil
	}
	known := names(cases)
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("conformance: there is no case %s: want of %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(cases, func(c one[T]) bool { return !slices.Contains(only, c.name) }), nil
}

// each plays cases, so many at a time.
func each[T any](ctx context.Context, cases []one[T], parallel int, try func(one[T]) Result, tell func(Result)) error {
	slots, results := make(chan struct{}, parallel), make(chan Result)
	var group sync.WaitGroup
	for _, c := range cases {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results <- try(c)
		})
	}
	go func() { group.Wait(); close(results) }()
	for r := range results {
		tell(r)
	}
	return ctx.Err()
}

// judged is a case as it is played: its first failure ends it.
type judged struct {
	ctx     context.Context
	failure string
}

// play plays a case in a goroutine of its own, which a failure ends, and what is done behind it.
func (j *judged) play(leave, body func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer leave()
		body()
	}()
	<-done
}

// fail ends the case.
func (j *judged) fail(format string, args ...any) {
	if j.failure == "" {
		j.failure = fmt.Sprintf(format, args...)
	}
	runtime.Goexit()
}

// check ends the case unless something holds.
func (j *judged) check(ok bool, format string, args ...any) {
	if !ok {
		j.fail(format, args...)
	}
}

// sleep waits.
func (j *judged) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-j.ctx.Done():
		j.fail("interrupted")
	}
}

// patience is how long anything is waited for that should come at once, on a busy machine.
const patience = 15 * time.Second

// trial is a client as it is tried.
type trial struct {
	judged
	options Options
	server  *server
	client  *process
}

// scaled is how long a time of the client is.
func (t *trial) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * t.options.Scale)
}

// slack is how much later than said a busy machine may be.
const slack = 2 * time.Second

// within ends the case unless something took the client's time d, and no much longer.
func (t *trial) within(what string, took, d time.Duration) {
	want := t.scaled(d)
	t.check(took >= want*95/100 && took <= want+slack, "%s comes after %v, want %v", what, took, want)
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
