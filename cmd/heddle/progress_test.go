package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

func event(t *testing.T, text string) client.Event {
	t.Helper()
	var e client.Event
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWhatNobodyTakesIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	p.event(event(t, `{"position":"1.2","time":"2026-01-01T00:00:00Z","type":"RunnableDispatched","runnable":"r1","component":"greet","attempt":1,"queue":"hello"}`))
	p.event(event(t, `{"position":"1.2","time":"2026-01-01T00:00:00Z","type":"RunnableDispatched","runnable":"r2","component":"taken","attempt":1,"queue":"other"}`))
	p.event(event(t, `{"position":"1.3","time":"2026-01-01T00:00:01Z","type":"RunnableNotified","runnable":"r2","component":"taken"}`))
	now := time.Now()
	p.hint(now.Add(hintAfter - time.Second))
	if out.Len() > 0 {
		t.Fatalf("told too early: %s", out.String())
	}
	p.hint(now.Add(hintAfter + time.Second))
	p.hint(now.Add(hintAfter + 2*time.Second))
	if got := out.String(); strings.Count(got, "nobody takes it") != 1 || !strings.Contains(got, `greet`) || !strings.Contains(got, `"hello"`) {
		t.Fatalf("told: %s", got)
	}
}

// A task that no worker knows is offered every few seconds: that is told once, and again
// when something else has happened to it.
func TestATaskThatNoWorkerKnowsIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	say := func(types ...string) {
		for _, name := range types {
			p.event(event(t, `{"time":"2026-01-01T00:00:00Z","type":"`+name+`","runnable":"r1","component":"a","attempt":2,"queue":"q","error":{"type":"t","message":"m"}}`))
		}
	}
	offered := []string{"RunnableDispatched", "RunnableReturned", "TimerFired"}
	say(offered...)
	once := out.String()
	if !strings.Contains(once, "until a worker of its queue takes it") {
		t.Fatalf("told: %s", once)
	}
	say(offered...)
	say(offered...)
	if got := out.String(); got != once {
		t.Errorf("told more than once: %s", got)
	}
	say("RunnableFailed")
	say(offered...)
	if got := out.String(); strings.Count(got, "until a worker of its queue takes it") != 2 {
		t.Errorf("told: %s", got)
	}
}

func TestEventsAreToldInWords(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"RunnableCompleted","component":"a","value":{"x":1}}`:                                             `→ {"x":1}`,
		`{"type":"RunnableFailed","component":"a","error":{"type":"t","message":"m"}}`:                             "failed: t: m",
		`{"type":"RunnableReturned","component":"a"}`:                                                              "until a worker of its queue takes it",
		`{"type":"RunnableDispatched","component":"a","attempt":3,"queue":"q"}`:                                    "attempt 3",
		`{"type":"RunnableDispatched","component":"a","attempt":1}`:                                                "from outside",
		`{"type":"RunnableFailed","component":"a","action":"skip","error":{"type":"t","message":"m"}}`:             "failed, and is skipped: t: m",
		`{"type":"RunnableFailed","component":"a","action":"catch","error":{"type":"t","message":"m"}}`:            "failed, and is caught: t: m",
		`{"type":"RunnableTimedOut","component":"a","error":{"type":"deadline","message":"m"}}`:                    "timed out: deadline: m",
		`{"type":"RunnableTimedOut","component":"a","action":"fallback","error":{"type":"timeout","message":"m"}}`: "timed out, and falls back: timeout: m",
		`{"type":"StateChanged","component":"a","value":0}`:                                                        "begins with 0",
		`{"type":"StateChanged","component":"a","parents":["f1"],"value":7}`:                                       "→ 7",
		`{"type":"SilenceAwaited","component":"a","for_ms":300,"due":"2026-01-01T00:00:00Z"}`:                      "waits for a silence, until 20",
		`{"type":"SignalAwaited","component":"a"}`:                                                                 "waits for its signal\n",
		`{"type":"SignalAwaited","component":"a","key":"o7","until":"2099-01-31T12:00:00Z"}`:                       `waits for its signal with the key "o7", until 2099-0`,
		`{"type":"SignalTaken","component":"a"}`:                                                                   "has its signal",
		`{"type":"TimerArmed","component":"a","due":"2099-01-31T12:00:00Z"}`:                                       "waits until 2099-0",
		`{"type":"BranchNotTaken","component":"a"}`:                                                                "not taken",
		`{"type":"WorkflowFailed","component":"a","error":{"type":"t","message":"gone"}}`:                          "the workflow has failed: t: gone",
		`{"type":"WorkflowCompleted"}`:                                                                             "the workflow is completed",
	} {
		var out bytes.Buffer
		newProgress(&out).event(event(t, strings.Replace(text, "{", `{"time":"2026-01-01T00:00:00Z",`, 1)))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\n is told as %q, want %q", text, out.String(), want)
		}
	}
}

func TestAFailureIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	for _, e := range []string{"RunnableFailed", "WorkflowFailed"} {
		p.event(event(t, `{"time":"2026-01-01T00:00:00Z","type":"`+e+`","component":"a","error":{"type":"t","message":"m"}}`))
	}
	if got := out.String(); strings.Count(got, "t: m") != 1 || !strings.Contains(got, "the workflow has failed\n") {
		t.Errorf("told: %s", got)
	}
}

func TestALongValueIsCutAtACharacter(t *testing.T) {
	if got := cut("häddle", 2); got != "h…" {
		t.Errorf("got %q", got)
	}
	if got := cut("short", 10); got != "short" {
		t.Errorf("got %q", got)
	}
}
