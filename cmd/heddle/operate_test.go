package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/sdk/client"
)

// An operator says who asks and why, and what exactly; what is missing is told before anybody is asked.
func TestAWordOfNobodyIsWrongUsage(t *testing.T) {
	elsewhere(t)
	for line, want := range map[string]string{
		"release 0 --by ann":            "--why",
		"mark-stale 0 --why odd":        "--by",
		"checkpoint --by ann --why now": `expected "<partition>"`,
		"relase 0":                      "see: heddle partitions --help",
		"list 0":                        "see: heddle partitions list --help",
		"replay 0 --by ann --why now":   "--from commands@OFFSET or inbox@OFFSET, or --clear",
		"replay 0 --by ann --why now --from inbox@1 --clear":   "or --clear",
		"replay 0 --by ann --why now --cursor inbox@1":         "unknown flag --cursor",
		"release 0 --by ann --why now --reason it-is-too-late": "unknown flag --reason",
		"replay 0 --by ann --why now --from":                   "--from has no value behind it\n  see: heddle partitions replay --help",
	} {
		code, _, told := heddle(t, "", append([]string{"partitions"}, strings.Fields(line)...)...)
		if code != codeUsage || !strings.Contains(told, want) {
			t.Errorf("%q: exit %d: %s", line, code, told)
		}
	}
}

func TestQueuesAreListed(t *testing.T) {
	now := time.Now()
	at := runtime.FormatTime(now.Add(-90 * time.Second))
	var out strings.Builder
	printQueues(&out, []client.Queue{
		{Name: "mail\x1b[2J", QueueBacklog: client.QueueBacklog{Pending: 5, Notified: 2, OldestPendingSince: &at}, Partitions: make([]client.QueueShare, 3)},
		{Name: "bills", QueueBacklog: client.QueueBacklog{Notified: 7}, Partitions: make([]client.QueueShare, 1)},
	}, now)
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"QUEUE PENDING OLDEST RUNNING DELIVERED FAILED PARTITIONS", `mail\x1b[2J 5 1m30s ago 2 0 0 3`, "bills 0 7 0 0 1"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}

// An operator takes a partition from its owner, doubts it, has it read again and written down; workflows go on, and
// the journal has each word with who and why.
func TestAnOperatorsWordsToAPartition(t *testing.T) {
	if !apart(t) {
		return
	}
	elsewhere(t)
	write(t, "shout.yaml", shout)
	running(t, "shout.yaml")
	succeed(t, "run", "shout", "name=ann", "--id", "w1")
	partitions := func() (all client.Readiness) {
		if err := json.Unmarshal([]byte(succeed(t, "partitions", "-o", "json")), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	ready := func() bool { all := partitions(); return all.Ready && len(all.Partitions) == 2 }
	eventually(t, "both partitions are ready", ready)

	before := *partitions().Partitions[0].Authority.Epoch
	by := []string{"--by", "ann", "--why", "its machine hangs"}
	contains(t, succeed(t, append([]string{"partitions", "release", "0"}, by...)...), "partition 0: its lease is released")
	eventually(t, "another epoch serves the partition", func() bool {
		is := partitions().Partitions[0]
		return is.Readiness.Ready && *is.Authority.Epoch > before
	})

	contains(t, succeed(t, append([]string{"partitions", "replay", "1", "--from", "commands@0"}, by...)...), "partition 1: it reads again from commands@0")
	contains(t, succeed(t, append([]string{"partitions", "replay", "1", "--clear"}, by...)...), "there is no request to read again")
	if code, _, told := heddle(t, "", append([]string{"partitions", "replay", "1", "--from", "commands@99999"}, by...)...); code != codeFailed || !strings.Contains(told, "has been read up to") {
		t.Errorf("read again what was never there: exit %d, %s", code, told)
	}
	contains(t, succeed(t, append([]string{"partitions", "checkpoint", "1"}, by...)...), "written to the changelog now")
	eventually(t, "the partition has a checkpoint", func() bool { return partitions().Partitions[1].Checkpoint != nil })
	contains(t, succeed(t, append([]string{"partitions", "mark-stale", "1"}, by...)...), "its lease is stale until its owner renews it")
	eventually(t, "the lease is stale", func() bool {
		is := partitions().Partitions[1].Readiness
		return slices.Equal(is.Reasons, []string{"authority lease is stale: its machine hangs"})
	})
	eventually(t, "the owner has renewed its lease", ready)

	contains(t, succeed(t, "input", "w1", "name=bob", "--wait", "10s"), `"HELLO BOB"`)
	contains(t, succeed(t, "results", "w1", "--all"), `"HELLO ANN"`, `"HELLO BOB"`)

	ended := func() (all listed[client.Dispatch]) {
		for _, p := range []string{"0", "1"} {
			var some listed[client.Dispatch]
			if err := json.Unmarshal([]byte(succeed(t, "partitions", "dispatches", p, "--status", "delivered", "-o", "json")), &some); err != nil {
				t.Fatal(err)
			}
			all.Items = append(all.Items, some.Items...)
		}
		return all
	}
	all := ended().Items
	if len(all) == 0 || all[0].Metadata.Workflow != "w1" || all[0].DeliveredAt == nil {
		t.Fatalf("the delivered dispatches are %+v", all)
	}
	p := strconv.Itoa(int(kafka.PartitionFor([]byte("w1"), 2)))
	contains(t, succeed(t, append([]string{"partitions", "remove-dispatch", p, all[0].RequestID}, by...)...), "1 dispatch records are removed")
	if left := ended().Items; len(left) != len(all)-1 {
		t.Errorf("behind the removal of one of %d there are %d", len(all), len(left))
	}
	if code, _, told := heddle(t, "", append([]string{"partitions", "remove-dispatch", p, all[0].RequestID}, by...)...); code != codeFailed || !strings.Contains(told, "no dispatch record has the request id") {
		t.Errorf("removed again: exit %d, %s", code, told)
	}
	for p, words := range map[string][]string{"0": {"AuthorityReleased"}, "1": {"ReplayRequested", "CheckpointRequested", "AuthorityMarkedStale"}} {
		contains(t, succeed(t, "journal", "dump", "-o", "json", "--partition", p), append(words, "ann", "its machine hangs")...)
	}
}
