package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// progress tells the events of one run in a person's words.
type progress struct {
	out     io.Writer
	began   time.Time          // of the first event
	waiting map[string]*waiter // by runnable
	unknown map[string]bool    // runnables whose task no worker knew, as was told
	told    string             // the failure that the last line had; empty if it had none
}

// waiter is an attempt that nobody has taken yet.
type waiter struct {
	component, queue string
	since            time.Time // on this machine's clock
	told             bool
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, waiting: map[string]*waiter{}, unknown: map[string]bool{}}
}

// eventFields are the fields of events that progress looks at.
type eventFields struct {
	Component string          `json:"component"`
	Runnable  string          `json:"runnable"`
	Attempt   int             `json:"attempt"`
	Queue     string          `json:"queue"`
	Value     json.RawMessage `json:"value"`
	Due       time.Time       `json:"due"`
	Until     time.Time       `json:"until"` // when a signal is awaited no longer
	Key       string          `json:"key"`   // of a signal that is awaited
	Action    string          `json:"action"`
	For       string          `json:"for"`
	Form      string          `json:"form"`   // of a fallback
	Answer    string          `json:"answer"` // of a probe
	Parents   json.RawMessage `json:"parents"`
	Reason    string          `json:"reason"`
	Error     *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// failure is the error of an event in words; empty if it has none.
func (f *eventFields) failure() string {
	if f.Error == nil {
		return ""
	}
	return f.Error.Type + ": " + f.Error.Message
}

// maxShown is how much of a value is shown.
const maxShown = 80

// event tells one event; those that a person need not know are left out.
func (p *progress) event(e client.Event) {
	var f eventFields
	if err := json.Unmarshal(e.Fields, &f); err != nil {
		fmt.Fprintln(p.out, shown(string(e.Fields)))
		return
	}
	if p.began.IsZero() {
		p.began = e.Time
	}
	p.track(e.Type, f)
	if p.repeats(e.Type, f.Runnable) {
		return
	}
	if e.Type == "WorkflowFailed" && p.told == f.failure() {
		f.Error = nil // the line before has it
	}
	if text := say(e.Type, f); text != "" {
		p.told = f.failure()
		fmt.Fprintf(p.out, "%8.3fs  %-16s %s\n", e.Time.Sub(p.began).Seconds(), shown(f.Component), shown(text))
	}
}

// track notes which attempts wait for a worker.
func (p *progress) track(event string, f eventFields) {
	switch event {
	case "RunnableDispatched":
		if f.Queue != "" {
			p.waiting[f.Runnable] = &waiter{component: f.Component, queue: f.Queue, since: time.Now()}
		}
	case "RunnableReady":
	default:
		delete(p.waiting, f.Runnable)
	}
}

// repeats reports whether an event says no more than that a task is still offered to
// workers that do not know it, as it is every few seconds.
func (p *progress) repeats(event, runnable string) bool {
	told := p.unknown[runnable]
	switch event {
	case "RunnableReturned":
		p.unknown[runnable] = true
		return told
	case "RunnableDispatched":
		return told
	case "TimerFired":
	default:
		delete(p.unknown, runnable)
	}
	return false
}

// say puts an event into words; empty for those that say nothing new.
func say(event string, f eventFields) string {
	failure := f.failure()
	switch event {
	case "RunnableDispatched":
		if f.Queue == "" {
			return "is to be completed from outside, by its token: heddle runnables ID --tokens"
		}
		switch {
		case f.For != "":
			return fmt.Sprintf("attempt %d, of its %s", f.Attempt, f.For)
		case f.Attempt > 1:
			return fmt.Sprintf("attempt %d", f.Attempt)
		}
	case "StateChanged":
		if f.Parents == nil { // nothing has arrived yet
			return "begins with " + cut(string(f.Value), maxShown)
		}
		return "→ " + cut(string(f.Value), maxShown)
	case "RunnableCompleted", "FactProduced":
		return "→ " + cut(string(f.Value), maxShown)
	case "RunnableFailed":
		return ended("failed", f.Action) + failure
	case "RunnableTimedOut":
		return ended("timed out", f.Action) + failure
	case "RunnableLost":
		return vanished(f.Action)
	case "ProbeAnswered":
		return "its probe says: " + strings.ReplaceAll(f.Answer, "_", " ")
	case "OutcomeArrived":
		return "its outcome has come after all"
	case "RunnableReturned":
		return f.Reason + "; it is offered again until a worker of its queue takes it"
	case "RetryScheduled":
		return "tries again at " + hour(f.Due)
	case "BranchNotTaken":
		return "not taken"
	case "RunnableSuppressed", "RunnableSkipped", "RunnableCancelled":
		return strings.ToLower(event[len("Runnable"):])
	case "TimerArmed":
		return "waits until " + hour(f.Due)
	case "SilenceAwaited":
		return "waits for a silence, until " + hour(f.Due)
	case "SignalAwaited":
		return awaitsSignal(f)
	case "SignalTaken":
		return "has its signal"
	case "WorkflowFailed":
		if failure == "" {
			return "the workflow has failed"
		}
		return "the workflow has failed: " + failure
	case "WorkflowIdle", "WorkflowPaused", "WorkflowStopped", "WorkflowCancelling", "WorkflowCancelled", "WorkflowCompleted":
		return "the workflow is " + strings.ToLower(event[len("Workflow"):])
	}
	return ""
}

// ended says what follows from an attempt that failed or timed out.
func ended(how, action string) string {
	switch action {
	case "skip":
		return how + ", and is skipped: "
	case "catch":
		return how + ", and is caught: "
	case "fallback":
		return how + ", and falls back: "
	case "hold":
		return "its probe " + how + ", so somebody has to say what became of it: "
	}
	return how + ": "
}

// vanished says what follows from the loss of a worker.
func vanished(action string) string {
	switch action {
	case "hold":
		return "its worker vanished, so somebody has to say what became of it: heddle runnables ID --status uncertain --tokens"
	case "probe":
		return "its worker vanished, so its probe is asked what became of it"
	case "fallback":
		return "its worker vanished, and it falls back"
	}
	return "its worker vanished"
}

// awaitsSignal says which signal a component waits for, and how long.
func awaitsSignal(f eventFields) string {
	text := "waits for its signal"
	if f.Key != "" {
		text += fmt.Sprintf(" with the key %q", f.Key)
	}
	if !f.Until.IsZero() {
		text += ", until " + hour(f.Until)
	}
	return text
}

// hour is a time of the next hours as the time of the day, any other with its date.
func hour(t time.Time) string {
	if d := time.Until(t); d > 12*time.Hour || d < -12*time.Hour {
		return clock(t)
	}
	return t.Local().Format("15:04:05.000")
}

// hintAfter is how long a task may wait for a worker before that is said.
const hintAfter = 5 * time.Second

// hint says what nobody has taken for a while, once for each.
func (p *progress) hint(now time.Time) {
	for _, w := range p.waiting {
		if !w.told && now.Sub(w.since) >= hintAfter {
			w.told = true
			fmt.Fprintf(p.out, "          %-16s nobody takes it from the queue %q: start a worker that serves it, or bind the queue to an HTTP service\n", shown(w.component), w.queue)
		}
	}
}
