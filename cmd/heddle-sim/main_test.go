package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// A simulation that is stopped says where to go on.
func TestAnInterruptedSimulationSaysWhereToGoOn(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out, errs bytes.Buffer
	if code := run(ctx, []string{"--seed", "9", "--seeds", "5"}, &out, &errs); code != codeInterrupted {
		t.Errorf("the exit code is %d", code)
	}
	if all := out.String() + errs.String(); !strings.Contains(all, "go on with --seed 9\n") {
		t.Errorf("it says %q", all)
	}
}

func TestTheFlagsAreChecked(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--help"}, codeHeld, "--seeds"},
		{[]string{"--cluster", "bogus"}, codeUsage, "model"},
		{[]string{"--seed", "-1"}, codeUsage, "--seed"},
		{[]string{"--seed", "3", "--steps", "40"}, codeHeld, ""},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), c.args, &out, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q ends with %d and says %s", c.args, code, &out)
		}
	}
}
