package loop

import (
	"cmp"
	"fmt"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

// operate decides an operator's command to the partition itself. Each is a
// recorded event with who and why.
func (p *Processor) operate(d *decision, cmd *events.Command) {
	switch b := cmd.Body.(type) {
	case *events.ReleasePartition:
		p.dismiss(d, b)
	case *events.MarkPartitionStale:
		p.markStale(d, b)
	case *events.ReplayPartition:
		p.requestReplay(d, cmd, b)
	case *events.AcceptLoss:
		d.own = noLoss(cmd, b)
	case *events.RemoveDispatch:
		d.own = p.ended.removed(cmd, b)
	case *events.CheckpointWorkflow:
		p.requestCheckpoint(d, cmd, b)
	default:
		d.own = refusal(cmd, "invalid_command", fmt.Sprintf("%s is no command to a partition", cmd.Name))
	}
	p.decide(d)
}

func (p *Processor) dismiss(d *decision, b *events.ReleasePartition) {
	d.own = p.lease.ForceRelease(b.By)
	d.after = func() { p.dismissed = true }
}

func (p *Processor) markStale(d *decision, b *events.MarkPartitionStale) {
	stale := p.lease.MarkStale(cmp.Or(b.Reason, b.Why), b.By)
	d.own = stale
	d.after = func() {
		p.lease = p.lease.Apply(stale, p.epoch)
		p.staleSince = 0
	}
}

func (p *Processor) requestCheckpoint(d *decision, cmd *events.Command, b *events.CheckpointWorkflow) {
	if bad := b.CheckGiven(); bad != nil { // of a workflow nobody has to
		d.own = &events.CommandRefused{Command: cmd.Name, Code: bad.Code, Path: bad.Path, Message: bad.Message}
		return
	}
	d.own = &events.CheckpointRequested{By: b.By}
	d.after = func() { p.checkpointNow() }
}

// noLoss refuses to accept a loss: a partition that decides has none to accept.
func noLoss(cmd *events.Command, b *events.AcceptLoss) events.Event {
	return refusal(cmd, "no_loss", fmt.Sprintf("nothing of %s from offset %d to %d keeps the partition from going on", b.Log, b.From, b.To-1))
}

// requestReplay rewinds the reading of an input log; the ledger makes it
// harmless. A later place would skip inputs and is refused.
func (p *Processor) requestReplay(d *decision, cmd *events.Command, b *events.ReplayPartition) {
	if b.Cursor == "" {
		d.own = &events.ReplayRequested{By: b.By}
		d.after = func() { p.rewound = "" }
		return
	}
	s, offset, ok := parseCursor(b.Cursor)
	if !ok {
		d.own = refusal(cmd, "invalid_cursor", fmt.Sprintf("%q is not of the form commands@OFFSET or inbox@OFFSET", b.Cursor))
		return
	}
	if start := p.inputs[s].Start; offset < start {
		d.own = refusal(cmd, "invalid_cursor", fmt.Sprintf("%s begins at %d: what was before is decided and deleted", s, start))
		return
	}
	if offset > p.inputs[s].Next {
		d.own = refusal(cmd, "invalid_cursor", fmt.Sprintf("%s has been read up to %d only", s, p.inputs[s].Next))
		return
	}
	d.own = &events.ReplayRequested{Cursor: b.Cursor, By: b.By}
	d.after = func() { p.rewound = b.Cursor }
	p.rewind(s, offset)
}

// rewind makes the reading go on at an earlier place, from the decision on: what
// is read behind the record that says so is read from there, or the position that
// the next record tells would be ahead of it again.
func (p *Processor) rewind(s events.Source, offset int64) {
	l := &p.inputs[s]
	l.Next, l.Last, l.seeking = offset, 0, true
	p.Log.Seek(s, offset)
}

// parseCursor reads commands@OFFSET or inbox@OFFSET.
func parseCursor(cursor string) (events.Source, int64, bool) {
	r, err := runtime.ParseReplayRequest(cursor, events.FromCommands.String(), events.FromInbox.String())
	if err != nil {
		return 0, 0, false
	}
	if r.Log == events.FromInbox.String() {
		return events.FromInbox, r.Offset, true
	}
	return events.FromCommands, r.Offset, true
}

// Cursor is what an operator has asked to be read again from; empty: nothing.
func (p *Processor) Cursor() string { return p.rewound }
