package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/services/readiness"
)

// partitionsCmd is what concerns the planner partitions.
type partitionsCmd struct {
	List       partitionsListCmd `cmd:"" default:"withargs" help:"List the planner partitions: owner, state, committed cursor, what is wrong."`
	AcceptLoss acceptLossCmd     `cmd:"" help:"Let a blocked partition go on without records of an input log that are gone unread."`
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
	return a.print(all, func(w io.Writer) { printPartitions(w, all) })
}

func printPartitions(w io.Writer, all *client.Readiness) {
	table := [][]string{{"PARTITION", "OWNER", "EPOCH", "STATE", "CURSOR", "REASON"}}
	for i := range all.Partitions {
		table = append(table, partitionRow(&all.Partitions[i], all.Warnings))
	}
	rows(w, table)
	if len(all.Partitions) == 0 { // then the reasons are of the whole
		for _, reason := range all.Reasons {
			fmt.Fprintln(w, shown(reason))
		}
	}
}

// partitionRow is a partition, with its reasons not to be ready and its warnings.
func partitionRow(p *runtime.Partition, warnings []string) []string {
	row := []string{strconv.Itoa(int(p.Partition)), "", "", partitionState(p), "", ""}
	if owner := p.Authority.Owner; owner != nil {
		row[1] = *owner
	}
	if epoch := p.Authority.Epoch; epoch != nil {
		row[2] = strconv.FormatUint(*epoch, 10)
	}
	if cursor := p.Replay.Cursor; cursor != nil {
		row[4] = *cursor
	}
	reasons := slices.Clone(p.Readiness.Reasons)
	for _, warning := range warnings {
		if about, ok := strings.CutPrefix(warning, fmt.Sprintf("partition %d: ", p.Partition)); ok {
			reasons = append(reasons, about)
		}
	}
	row[5] = strings.Join(reasons, "; ")
	return row
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
