package sim

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/rows"
)

// cursors are the offsets of the planners' group, by partition: what checkpoints have
// committed, and what recoveries were told. Every owner has to have looked, and to
// show what checkpoints do not explain. The cluster's lock guards it.
type cursors struct {
	last map[int32]checkpointed
	held map[int32]runtime.Authority // the lease that was published last
	told map[lease]bool              // whether the offsets were others than a checkpoint explains
}

func newCursors() cursors {
	return cursors{map[int32]checkpointed{}, map[int32]runtime.Authority{}, map[lease]bool{}}
}

// checkpointed is the newest checkpoint of a partition.
type checkpointed struct {
	at   map[string]int64 // that the last one with positions has committed, by topic
	bare bool             // it went without
}

// cursorTopics are those whose offsets the planners' group has.
func (c *cluster) cursorTopics() []string {
	return []string{c.names.Journal(), c.names.Inbox(), c.names.Commands()}
}

// moved reports whether the group's offsets are others than the last checkpoint explains.
func (w *world) moved(p int32) bool {
	last, now := w.cursors.last[p], w.c.brokers.committed(w.c.names.PlannerGroup())
	return !last.bare && slices.ContainsFunc(w.c.cursorTopics(), func(topic string) bool {
		want, had := last.at[topic]
		got, has := now[place{topic, p}]
		return want != got || had != has
	})
}

// asked notes what an owner that recovers is told of its group's offsets.
func (c *cursors) asked(n *node, group, who string) {
	if group != n.c.names.PlannerGroup() {
		return
	}
	for p := range n.c.partitions {
		if partitionName(p) == who {
			c.told[lease{who, n.owner}] = n.w.moved(p)
		}
	}
}

var markerKey = string(rows.Key{Table: rows.Metadata, A: 255}.Append(nil))

// wrote takes a committed transaction: a part of a checkpoint, or a takeover.
func (c *cursors) wrote(n *node, records []*kgo.Record, commit *kafka.Commit) {
	for _, rec := range records {
		switch rec.Topic {
		case n.c.names.State():
			if string(rec.Key) == markerKey {
				c.last[rec.Partition] = c.last[rec.Partition].then(commit)
			}
		case n.c.names.Authority():
			c.published(n, rec, commit)
		}
	}
}

// then is the newest checkpoint behind another one, with or without positions.
func (c checkpointed) then(commit *kafka.Commit) checkpointed {
	c.bare = commit == nil
	if commit != nil {
		c.at = map[string]int64{}
		for topic, parts := range commit.Positions {
			for _, at := range parts {
				c.at[topic] = at.Offset
			}
		}
	}
	return c
}

// published holds what an owner shows of its cursor against what it was told. Who is
// blocked owns nothing: it repeats the lease that was there, and adds why.
func (c *cursors) published(n *node, rec *kgo.Record, commit *kafka.Commit) {
	p := rec.Partition
	fail := func(format string, args ...any) {
		n.w.failAbout(ofPartition(p), n.name+" owns "+partitionName(p)+" and "+format, args...)
	}
	var r runtime.Record
	if err := json.Unmarshal(rec.Value, &r); err != nil {
		fail("publishes what cannot be read: %w", err)
		return
	}
	last, known := c.held[p]
	c.held[p] = r.Authority
	if r.Blocked != nil { // it does not own, and has not come as far as the offsets
		if known && !reflect.DeepEqual(r.Authority, last) {
			n.w.failAbout(ofPartition(p), "%s is blocked from %s and publishes another lease than was there: %+v, not %+v", n.name, partitionName(p), r.Authority, last)
		}
		return
	}
	says := func(what string) bool {
		return slices.ContainsFunc(r.Notes, func(note string) bool { return strings.HasPrefix(note, what) })
	}
	moved, told := c.told[lease{partitionName(p), n.owner}]
	switch {
	case says(partition.CursorUnknown):
	case !told:
		fail("has not looked at the committed offsets")
	case moved != says(partition.CursorDiffers):
		fail("was told of committed offsets that no checkpoint explains: %v; it shows %q", moved, r.Notes)
	}
	if commit == nil {
		return
	}
	journal := n.c.names.Journal()
	want := journal + "/" + strconv.Itoa(int(p)) + "@" + strconv.FormatInt(commit.Positions[journal][p].Offset, 10)
	switch got := r.Replay.Cursor; {
	case got == nil:
		fail("commits %s and shows no cursor", want)
	case *got != want && strings.HasPrefix(*got, journal):
		fail("commits %s and shows %s", want, *got)
	}
}

// moveOffsets is somebody who deletes or resets a committed offset of the planners'
// group. None is beyond the journal's end: that would block the partition.
func (w *world) moveOffsets(rng *rand.Rand) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	p := int32(rng.IntN(int(w.c.partitions)))
	at := place{w.c.cursorTopics()[rng.IntN(3)], p}
	group := w.c.names.PlannerGroup()
	if _, has := w.c.brokers.committed(group)[at]; !has || !w.c.brokers.quiet(w.c.names.PlannerTxn(p)) {
		return
	}
	switch rng.IntN(3) {
	case 0:
		w.c.brokers.uncommit(group, at)
	case 1:
		w.c.brokers.commit(group, at, 0)
	case 2:
		w.c.brokers.commit(group, at, rng.Int64N(1+w.c.offset(at, stable)))
	}
}
