package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
)

// waitsFor says in words what a runnable that is not done waits for, and for how long at most;
// empty: it is done. It is as much as the planner knows: whether anybody takes from a queue the
// gateway adds.
func (vw *view) waitsFor(c *definition.Component, r *runnable) string {
	s := vw.waitsForWhat(c, r)
	if s == "" {
		return ""
	}
	return s + r.limit().told()
}

// dueOf is when that comes by itself; nil if nobody knows, as of a permit: its timer only asks for it again.
func dueOf(r *runnable) any {
	if r.Status == runWaiting && r.Permit != nil {
		return nil
	}
	return stampOrNil(r.Due)
}

func (vw *view) waitsForWhat(c *definition.Component, r *runnable) string {
	switch r.Status {
	case runReady:
		return vw.waitsForRoom()
	case runWaiting:
		if r.Permit != nil {
			return r.Permit.waitsFor()
		}
		if r.Alarm != 0 {
			return waitsForAlarm(r)
		}
		return kinds[c.Kind].waitsForTime(c, r)
	case runActive:
		return waitsForOutcome(c, r)
	case runUncertain:
		return fmt.Sprintf("a decision: its worker vanished, and nobody knows what became of attempt %d; complete or fail it by its token, retry or skip it", r.Doubt.Attempt)
	default:
		return ""
	}
}

// waitsForRoom is what keeps a ready runnable from being dispatched.
func (vw *view) waitsForRoom() string {
	switch vw.head.Status {
	case Running:
		return fmt.Sprintf("room: %d attempts of this workflow are open, and more are not admitted at a time", vw.head.Active)
	case Paused:
		return "the workflow is paused: resume it"
	case Failed:
		return "the workflow has failed: retry or skip what failed"
	default:
		return fmt.Sprintf("the workflow is %s: resume it", vw.head.Status)
	}
}

// closedAttempt reports whether the last attempt has ended, and was not handed back.
func closedAttempt(r *runnable) bool {
	return len(r.Past) > 0 && r.Past[len(r.Past)-1].Attempt == r.Attempt
}

// unknownYet is what an attempt waits for that workers have handed back.
func unknownYet(c *definition.Component, r *runnable) string {
	task, queue := r.work(c)
	s := fmt.Sprintf("a worker of the queue %q that knows %s", queue, task)
	if r.Returned != "" {
		return s + ": " + r.Returned
	}
	return fmt.Sprintf("%s: it was handed back %d times, by workers that do not know it or had not begun", s, r.Returns)
}

// waitsForOutcome is what ends an open attempt.
func waitsForOutcome(c *definition.Component, r *runnable) string {
	switch {
	case r.External:
		return "completion by its token: it is done from outside"
	case r.Pool != "":
		return waitsForPool(r)
	case r.Detached:
		return fmt.Sprintf("completion by its token: %s has handed it on", r.Executor) + r.ofDelivery()
	case r.Notified:
		return fmt.Sprintf("%s, which runs it", r.Executor) + r.ofDelivery()
	case r.Returns > 0:
		return unknownYet(c, r)
	}
	_, queue := r.work(c)
	return events.AwaitsWorker(queue)
}
