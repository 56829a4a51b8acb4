package partition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

// What an operator is told of a committed cursor, before what was found.
const (
	CursorDiffers = "the planner group's committed offsets are not those of the last checkpoint, recovery went by checkpoint and journal"
	CursorUnknown = "the planner group's committed offsets are not known, recovery went on without them"
)

// nowhere is the offset of a log for which nothing is committed.
const nowhere int64 = -1

// cursor is the durable cursor of a partition, as a checkpoint commits it for the
// planners' group: where a restore begins to read the journal, then the next record
// of each input log.
type cursor [1 + len(loop.Inputs)]int64

// uncommitted is a cursor of which nothing is committed.
func uncommitted() (c cursor) {
	for i := range c {
		c[i] = nowhere
	}
	return c
}

// cursorTopics are the topics whose offsets a cursor has.
func (h *Host) cursorTopics() [len(cursor{})]string {
	topics := [len(cursor{})]string{h.names.Journal()}
	for i, s := range loop.Inputs {
		topics[1+i] = h.router.Topic(s)
	}
	return topics
}

// cursor is the one that a checkpoint commits, unless it is bare.
func (m *marker) cursor() cursor {
	c := uncommitted()
	if m == nil {
		return c
	}
	c[0] = m.needs()
	for i, s := range loop.Inputs {
		for _, row := range m.Cursors {
			if row.Source == s {
				c[1+i] = row.Next
			}
		}
	}
	return c
}

// compareCursor holds the cursor that the planners' group has committed against the
// newest checkpoint and the journal (decision 0030). They agree, or the checkpoint
// went without positions, or the difference is shown. The journal has the last word:
// recovery goes on by it and by the checkpoint, unless the cursor knows of a
// journal that is longer than the one that there is.
func (r *tenure) compareCursor(ctx context.Context) error {
	r.check.told = nowhere
	if r.host.Flaws.BlindCursor.On() {
		return nil
	}
	group := r.host.names.PlannerGroup()
	got, err := r.committed(ctx, group)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.warn(CursorUnknown, fmt.Sprintf("%s: %v", group, err))
		return nil
	}
	r.check.told = got[0]
	if end := max(r.span.End, r.place.Offset); got[0] > end {
		return r.journalLoss(end, got[0], fmt.Sprintf("ends at offset %d, before a known position: group %s has committed offset %d of %s/%d (if somebody has moved the group's offsets, delete that one)", end, group, got[0], r.host.names.Journal(), r.o.p))
	}
	differ := r.differ(got, r.marker.cursor())
	switch {
	case differ == "":
	case r.marker != nil && r.marker.Bare:
		r.o.logger.Info("the last checkpoint went without positions: the committed offsets are older ones", "found", differ)
	default:
		r.warn(CursorDiffers, differ)
	}
	return nil
}

// differ says in which offsets the committed cursor is not that of the last
// checkpoint; "": in none.
func (r *tenure) differ(got, want cursor) string {
	var all []string
	for i, topic := range r.host.cursorTopics() {
		if got[i] != want[i] {
			all = append(all, fmt.Sprintf("%s/%d is committed at %s, the checkpoint has %s", topic, r.o.p, offset(got[i]), offset(want[i])))
		}
	}
	return strings.Join(all, ", ")
}

func offset(at int64) string {
	if at == nowhere {
		return "no offset"
	}
	return fmt.Sprintf("offset %d", at)
}

// warn logs what an operator should know, and shows it as long as the tenure lasts.
func (r *tenure) warn(what, found string) {
	r.o.logger.Warn(what, "found", found)
	r.notes = append(r.notes, what+": "+found)
}

// committed is the cursor that a group has committed. Nothing of a transaction is
// pending, as the fence has ended those of older owners; only its control records may still be
// on their way, and are waited for. A coordinator that is away does not hold a
// recovery up for long.
func (r *tenure) committed(ctx context.Context, group string) (cursor, error) {
	ctx, stop := context.WithTimeout(ctx, r.host.Settings.Lease/4)
	defer stop()
	for {
		c, err := r.committedNow(ctx, group)
		if err == nil || !errors.Is(err, kerr.UnstableOffsetCommit) && !kafka.IsRetriable(err) {
			return c, err
		}
		if sleep(ctx, waitStep); ctx.Err() != nil {
			return c, err
		}
	}
}

func (r *tenure) committedNow(ctx context.Context, group string) (cursor, error) {
	c := uncommitted()
	all, err := r.host.adm.FetchOffsets(kadm.RequireStable(ctx), group)
	if errors.Is(err, kerr.GroupIDNotFound) { // nobody has committed anything
		return c, nil
	}
	for i, topic := range r.host.cursorTopics() {
		if o, ok := all.Lookup(topic, r.o.p); ok {
			c[i], err = o.At, cmp.Or(err, o.Err)
		}
	}
	return c, err
}
