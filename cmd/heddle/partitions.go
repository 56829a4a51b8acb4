package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/services/readiness"
)

// partitionsCmd is what concerns the planner partitions.
type partitionsCmd struct {
	List           partitionsListCmd      `cmd:"" default:"withargs" help:"List the planner partitions: owner, lease, age of the checkpoint, backlog, replay, what is wrong."`
	AcceptLoss     acceptLossCmd          `cmd:"" help:"Let a blocked partition go on without records of an input log that are gone unread."`
	Release        releasePartitionCmd    `cmd:"" help:"Take the lease from its owner: whoever the partition is assigned to takes over."`
	MarkStale      markStaleCmd           `cmd:"" help:"Say that the lease is not to be trusted: the partition is not ready until it is renewed."`
	Replay         replayCmd              `cmd:"" help:"Read an input log again from an offset; what is decided is not decided again."`
	Dispatches     dispatchesCmd          `cmd:"" help:"List the dispatch records of a partition: what waits for a worker, what workers have, what has ended of late."`
	RemoveDispatch removeDispatchCmd      `cmd:"" help:"Remove dispatch records that have ended."`
	Checkpoint     checkpointPartitionCmd `cmd:"" help:"Write all changed rows of the partition to the changelog now."`
}

// partitionsListCmd lists the planner partitions: who owns them, how far they are, and
// what is wrong with them.
type partitionsListCmd struct{ remote }

// Run implements the command.
func (c *partitionsListCmd) Run(a *app) error {
	cl, err := c.open(a)
	if err != nil {
		return err
	}
	defer cl.Close()
	all, err := cl.Readiness(a)
	if err != nil {
		return err
	}
	return a.print(all, func(w io.Writer) { printPartitions(w, all, time.Now()) })
}

func printPartitions(w io.Writer, all *client.Readiness, now time.Time) {
	table := [][]string{{"PARTITION", "OWNER", "EPOCH", "STATE", "LEASE", "CHECKPOINT", "PENDING", "RUNNING", "REPLAY", "CURSOR"}}
	for i := range all.Partitions {
		table = append(table, partitionRow(&all.Partitions[i], now))
	}
	rows(w, table)
	for i := range all.Partitions { // below the table, which fits a terminal
		for _, reason := range partitionReasons(&all.Partitions[i], all.Warnings) {
			fmt.Fprintf(w, "partition %d: %s\n", all.Partitions[i].Partition, shown(reason))
		}
	}
	if len(all.Partitions) == 0 { // then the reasons are of the whole
		for _, reason := range all.Reasons {
			fmt.Fprintln(w, shown(reason))
		}
	}
}

// partitionRow is a partition in the table. The cursor is shown without its log, the partition of the journal.
func partitionRow(p *runtime.Partition, now time.Time) []string {
	count := func(n uint64) string { return strconv.FormatUint(n, 10) }
	cursor := textOf(p.Replay.Cursor)
	row := []string{
		strconv.Itoa(int(p.Partition)), textOf(p.Authority.Owner), "", partitionState(p), lease(p.Authority.LeasedUntil, now), "",
		count(p.Backlog.Pending), count(p.Backlog.Notified), count(p.Replay.PendingEvents), cursor[strings.LastIndexByte(cursor, '@')+1:],
	}
	if epoch := p.Authority.Epoch; epoch != nil {
		row[2] = count(*epoch)
	}
	if c := p.Checkpoint; c != nil {
		row[5] = since(c.At, now)
	}
	return row
}

// partitionReasons are why a partition is not ready, and its warnings.
func partitionReasons(p *runtime.Partition, warnings []string) []string {
	reasons := slices.Clone(p.Readiness.Reasons)
	for _, warning := range warnings {
		if about, ok := strings.CutPrefix(warning, fmt.Sprintf("partition %d: ", p.Partition)); ok {
			reasons = append(reasons, about)
		}
	}
	return reasons
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// lease is for how long a lease still holds, or since when it does not.
func lease(until *string, now time.Time) string {
	if until == nil {
		return ""
	}
	at, err := time.Parse(time.RFC3339Nano, *until)
	switch {
	case err != nil:
		return *until
	case at.After(now):
		return at.Sub(now).Round(time.Second).String()
	}
	return "expired " + since(*until, now)
}

// since is how long ago a time is.
func since(text string, now time.Time) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return max(0, now.Sub(at)).Round(time.Second).String() + " ago"
}

// partitionState is a word for what a partition is at.
func partitionState(p *runtime.Partition) string {
	switch {
	case p.Readiness.Ready:
		return "ready"
	case slices.ContainsFunc(p.Readiness.Reasons, readiness.Blocks):
		return "blocked"
	case p.Authority.Owner == nil:
		return "free"
	case p.Authority.Stale:
		return "stale"
	case p.Replay.PendingEvents > 0:
		return "replaying"
	default:
		return "not ready"
	}
}
