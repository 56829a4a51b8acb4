package main

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle/sdk/client"
)

// An operator's word is whole or none; what is missing is told before anybody is asked.
func TestAHalfAcceptanceIsWrongUsage(t *testing.T) {
	elsewhere(t)
	for line, want := range map[string]string{
		"0 --log inbox --from 5 --to 9 --by ann":                "wants all of --log, --from, --to, --by and --why",
		"0 --why gone":                                          "without any it shows what keeps the partition from going on",
		"0 --log authority --from 5 --to 9 --by ann --why gone": `--log "authority" is none of commands, inbox, journal`,
		"0 --log inbox --from 9 --to 9 --by ann --why gone":     "--from 9 --to 9 name no records",
		"0 --log inbox --from=-1 --to 9 --by ann --why gone":    "name no records",
		"": `expected "<partition>"`,
		"x --log inbox --from 5 --to 9 --by ann --why gone":              "valid 32 bit int",
		"0 --log inbox --from 5 --to 9 --by ann --why gone --range 5..9": "unknown flag --range",
	} {
		code, _, told := heddle(t, "", append([]string{"partitions", "accept-loss"}, strings.Fields(line)...)...)
		if code != codeUsage || !strings.Contains(told, want) {
			t.Errorf("%q: exit %d: %s", line, code, told)
		}
	}
}

// Listing needs no word more than before; a partition is not ended by a terminal's code.
func TestTheListOfPartitionsNeedsNoSubcommand(t *testing.T) {
	elsewhere(t)
	for _, args := range [][]string{{"partitions"}, {"partitions", "list"}, {"partitions", "--url", "http://127.0.0.1:1"}, {"partitions", "accept-loss", "0"}} {
		if code, _, told := heddle(t, "", args...); code != codeUnreachable {
			t.Errorf("%v: exit %d: %s", args, code, told)
		}
	}
}

func TestWhatALossMayConcernIsPrinted(t *testing.T) {
	var out strings.Builder
	printAtStake(&out, atStake{Partition: 3, Reasons: []string{"blocked: inbox \x1b[2J"}, Workflows: []client.Workflow{{ID: "w", Status: "running"}}})
	for _, want := range []string{`blocked: inbox \x1b[2J`, "workflows of partition 3 that have not ended: 1\n", "w   running"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
	out.Reset()
	printAtStake(&out, atStake{Partition: 3})
	if out.String() != "partition 3 is not blocked\n" {
		t.Errorf("printed %q", out.String())
	}
	for goesOn, want := range map[bool]string{true: "partition 3 goes on;", false: "no planner has answered yet"} {
		out.Reset()
		printAccepted(&out, accepted{3, goesOn})
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed %q, want %q", out.String(), want)
		}
	}
}
