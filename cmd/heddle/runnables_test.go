package main

import (
	"testing"

	"github.com/heddle-run/heddle/sdk/client"
)

func TestRunnablesSayWhatTheyFellBackTo(t *testing.T) {
	elsewhere(t)
	write(t, "saved.yaml", `
name: saved
components:
  charge: {step: test.fail, params: {n: 99}, policy: {max_retries: 0, fallback: {value: 7}}}
`)
	running(t, "saved.yaml")
	contains(t, succeed(t, "run", "saved", "--id", "s1", "--input", "1"), "7")
	contains(t, succeed(t, "runnables", "s1"), "charge", "completed", "fallback: value")
}
func TestARunnableShowsWhatItWaitsForAndKeeps(t *testing.T) {
	r := client.Runnable{WaitsFor: "its next attempt", Fallback: "value", Kept: &client.Kept{Keys: 2, Bytes: 7}}
	if got, want := whatIsWrong(&r), "its next attempt; fallback: value; it keeps 2 keys of 7 bytes"; got != want {
		t.Errorf("it shows %q, want %q", got, want)
	}
}
