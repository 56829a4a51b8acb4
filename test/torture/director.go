package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// director does to the processes what the plan says, and starts those that end
// by themselves, as a supervisor would.
type director struct {
	d       *deployment
	began   time.Time
	steps   []step
	end     time.Duration // of the last fault, since it began
	bench   *process      // whose next turn is among the steps
	trouble []trouble     // by process
	wrong   []string      // ends that nothing excuses
	done    map[action]int
	ends    int // of processes by themselves
}

// trouble is when a process was last seen in a state that excuses its end, or
// that of others.
type trouble struct {
	suspended, full bool
	until           time.Time // the last end of either
}

// restartAfter is when a supervisor starts what has ended by itself.
const restartAfter = time.Second

func newDirector(d *deployment) *director {
	return &director{d: d, began: time.Now(), trouble: make([]trouble, len(d.processes)), done: map[action]int{}}
}

// readyLimit is how long everything may take to be ready after the last step.
const readyLimit = time.Minute

// run follows the steps to their end, and then waits until everything is ready.
// failed tells of what ends the run early.
func (r *director) run(ctx context.Context, steps []step, failed <-chan error) error {
	r.began, r.steps, r.end = time.Now(), steps, 0
	if len(steps) > 0 {
		r.end = steps[len(steps)-1].at
	}
	last := time.Now()
	for {
		next := time.Now().Add(askEvery)
		if len(r.steps) > 0 {
			next = r.began.Add(r.steps[0].at)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case e := <-r.d.endings:
			if err := r.ended(e); err != nil {
				return err
			}
			continue
		case <-time.After(time.Until(next)):
		}
		if len(r.steps) > 0 {
			r.catchUp(time.Since(next))
			if err := r.next(); err != nil {
				return err
			}
			last = time.Now()
			continue
		}
		err := r.d.ready(ctx)
		if err == nil {
			r.d.diary.note("everything is ready %s after the last step", time.Since(last).Round(time.Millisecond))
			return nil
		}
		if time.Since(last) > readyLimit {
			return fmt.Errorf("not ready %s after the last step: %w", readyLimit, err)
		}
	}
}

// askEvery is how often readiness is asked for.
const askEvery = 20 * time.Millisecond

// tolerable is how late a step may be before those behind it are put off, too.
const tolerable = 500 * time.Millisecond

// catchUp puts off all steps when one is late, because the disk took long to
// fill or this process did not run: done all at once they would try nothing.
func (r *director) catchUp(late time.Duration) {
	if late > tolerable {
		r.d.diary.note("%s late: the rest of the plan is put off", late.Round(time.Millisecond))
		r.began = r.began.Add(late)
	}
}

// next does the next step.
func (r *director) next() error {
	s := r.steps[0]
	r.steps = r.steps[1:]
	return r.do(s)
}

// do does one step.
func (r *director) do(s step) error {
	if s.who == ofBench {
		return r.bench.start(r.d.binary)
	}
	p, t := r.d.processes[s.who], &r.trouble[s.who]
	r.done[s.do]++
	switch s.do {
	case kill:
		r.d.diary.note("kill %s after %s of life %d", p.name, time.Since(p.started).Round(time.Millisecond), p.life)
		p.kill()
		t.suspended = false
	case start:
		if p.running() {
			return nil
		}
		r.d.diary.note("start %s", p.name)
		return p.start(r.d.binary)
	case suspend:
		r.d.diary.note("suspend %s for %s", p.name, s.lasts.Round(time.Millisecond))
		p.signal(syscall.SIGSTOP)
		t.suspended = true
	case wake:
		r.d.diary.note("wake %s", p.name)
		p.signal(syscall.SIGCONT)
		t.suspended, t.until = false, time.Now()
	case fillDisk:
		bytes, err := p.disk.fill()
		if err != nil {
			return err
		}
		r.d.diary.note("fill the disk of %s with %d MiB for %s", p.name, bytes>>20, s.lasts.Round(time.Millisecond))
		t.full = true
	case freeDisk:
		r.d.diary.note("free the disk of %s", p.name)
		t.full, t.until = false, time.Now()
		return p.disk.free()
	}
	return nil
}

// ended takes note of a process that has ended, and has it started again.
func (r *director) ended(e ending) error {
	p := e.of
	if !p.running() || p.life != e.life {
		return nil // it was killed
	}
	lived := time.Since(p.started)
	p.cmd = nil
	who := slices.Index(r.d.processes, p)
	if who < 0 {
		r.nextTurn(p, e.err)
		return nil
	}
	r.ends++
	what := fmt.Sprintf("%s ended by itself (%v) after %s: %s", p.name, e.err, lived.Round(time.Millisecond), p.lastWords())
	if !r.excused(p, lived) {
		what += "  — nothing excuses that"
		r.wrong = append(r.wrong, what)
	}
	r.d.diary.note("%s", what)
	r.later(step{at: time.Since(r.began) + restartAfter, do: start, who: who})
	return nil
}

// ofBench stands for the bench in the steps: it is not a process of the deployment.
const ofBench = -1

// nextTurn has the bench begin again, while there are faults to come: after a rest,
// or soon if it gave up.
func (r *director) nextTurn(bench *process, gaveUp error) {
	rest := benchRest
	if gaveUp != nil {
		rest = restartAfter
	}
	if at := time.Since(r.began) + rest; at < r.end {
		r.bench = bench
		r.later(step{at: at, do: start, who: ofBench})
	}
}

func (r *director) later(s step) {
	r.steps = append(r.steps, s)
	slices.SortStableFunc(r.steps, func(a, b step) int { return int(a.at - b.at) })
}

const (
	// diskExcuse is how long after its disk was full a process may still end.
	diskExcuse = 10 * time.Second
	// brokerExcuse is the same for one that begins while the broker does not answer.
	brokerExcuse = 30 * time.Second
)

// excused reports whether a process may end by itself: its disk was full, or it has
// just begun and the broker does not answer.
func (r *director) excused(p *process, lived time.Duration) bool {
	own, broker := r.trouble[slices.Index(r.d.processes, p)], r.trouble[0]
	if own.full || time.Since(own.until) < diskExcuse {
		return true
	}
	absent := broker.suspended || broker.full || time.Since(broker.until) < brokerExcuse
	return lived < brokerExcuse && absent
}

// print tells what was done.
func (r *director) print() {
	fmt.Printf("faults:    %d kills, %d suspensions, %d disks filled; %d processes ended by themselves\n",
		r.done[kill], r.done[suspend], r.done[fillDisk], r.ends)
}
