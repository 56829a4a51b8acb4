package main

import "testing"

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
