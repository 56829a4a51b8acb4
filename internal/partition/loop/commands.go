package loop

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/wire"
)

// PartitionPrefix begins the workflow ID of commands to a partition itself.
const PartitionPrefix = "_partition/"

// takeCommand decides one record of commands.
func (in *intake) takeCommand(r *kgo.Record, ref events.InputRef) {
	own := strings.HasPrefix(string(r.Key), PartitionPrefix)
	if !own && in.foreign(r.Key) {
		in.forward(r, ref)
		return
	}
	var room [usualHeaders]events.Header // code that keeps something of a command copies it
	cmd, bad := events.ParseCommand(r.Key, appendHeaders(room[:0], r), r.Value, PlaceID(r))
	switch {
	case bad != nil:
		in.reject(r, ref, bad)
		return
	case own && cmd.Workflow != events.PartitionWorkflow(in.Partition):
		in.reject(r, ref, &events.CommandError{Code: "wrong_partition", Path: "key",
			Message: fmt.Sprintf("commands to %s are produced to that partition, this is %d", cmd.Workflow, in.Partition)})
		return
	}
	in.command(r, ref, cmd, own)
}

// command decides a command that is understood, unless the ledger knows it.
func (in *intake) command(r *kgo.Record, ref events.InputRef, cmd *events.Command, own bool) {
	d := &decision{ref: ref, raw: r, in: machine.Input{
		Workflow: cmd.Workflow, Source: events.FromCommands, ReplyTo: cmd.ReplyTo, Trace: cmd.Trace, Command: cmd, Quarantine: in.doubted(ref, cmd),
	}}
	v, entry := in.known(cmd, ref.Stamp)
	if in.fault != nil {
		return
	}
	if in.Flaws.NoLedger.On() {
		v = unseen
	}
	switch v {
	case repeated:
		in.ledger.repeat(cmd, entry)
		return
	case conflict:
		in.Stats.Conflicts.Add(1)
		d.own = refusal(cmd, "conflict", "another command was given under this id")
	case tooOld:
		d.own = refusal(cmd, "expired", "the command is older than the window in which repetitions are recognised")
	default:
		d.id, d.digest = cmd.DedupeID(), cmd.Digest
	}
	if own && d.own == nil {
		in.operate(d, cmd)
		return
	}
	in.decide(d)
}

// Undecided reports whether the ledger knows nothing of a command.
func (p *Processor) Undecided(cmd *events.Command, stamp int64) bool {
	v, _ := p.intake.known(cmd, stamp)
	return v == unseen
}

// known looks a command up; a state that cannot be read is a fault.
func (in *intake) known(cmd *events.Command, stamp int64) (v verdict, entry *ledgerRow) {
	defect := in.contained(func() {
		if in.names.fresh(cmd.Workflow) {
			in.State.Fresh(cmd.Workflow)
		}
		v, entry = in.ledger.lookUp(cmd, in.firstStamp(cmd, stamp))
	})
	if defect != "" {
		in.Fail(fmt.Errorf("looking up a command: %s", defect))
	}
	return v, entry
}

// firstStamp is the stamp by which a command is young or old: that of its record,
// or of the one that was forwarded. A partition that nobody owns for longer than the
// window forwards what the ledger here was asked about long ago.
func (in *intake) firstStamp(cmd *events.Command, stamp int64) int64 {
	if cmd.Written == 0 || in.Flaws.NewStamps.On() {
		return stamp
	}
	return min(cmd.Written, stamp)
}

func refusal(cmd *events.Command, code, message string) *events.CommandRefused {
	return &events.CommandRefused{Command: cmd.Name, Code: code, Message: message}
}

// foreign reports whether a key belongs to another partition.
func (in *intake) foreign(key []byte) bool {
	return kafka.PartitionFor(key, in.Partitions) != in.Partition
}

// PlaceID stands in for the id of a command that has none: where its record is, and
// when the broker stamped it. It is the same wherever the record is read again;
// another record in its place, of a log that was cut, has another stamp.
func PlaceID(r *kgo.Record) string {
	b := make([]byte, 0, len(r.Topic)+48)
	b = append(append(b, r.Topic...), '/')
	b = append(strconv.AppendInt(b, int64(r.Partition), 10), '/')
	b = append(strconv.AppendInt(b, r.Offset, 10), '@')
	return string(strconv.AppendInt(b, r.Timestamp.UnixMilli(), 10))
}

// takeInbox decides one record of the inbox.
func (in *intake) takeInbox(r *kgo.Record, ref events.InputRef) {
	if in.foreign(r.Key) {
		in.forward(r, ref)
		return
	}
	err := kafka.CheckFormat(r, events.InboxVersion)
	if later := (*wire.FormatError)(nil); errors.As(err, &later) {
		in.Fail(later)
		return
	}
	var msg events.InboxMessage
	if err == nil {
		msg, err = events.DecodeInbox(clone(r.Value))
	}
	if err != nil {
		in.reject(r, ref, &events.CommandError{Code: "malformed", Message: err.Error()})
		return
	}
	workflow := string(r.Key)
	if bad := events.CheckReceiver(workflow); bad != nil {
		in.reject(r, ref, bad)
		return
	}
	switch m := msg.(type) {
	case *events.EntityMessage:
		in.takeMessage(r, ref, m)
		return
	case *events.RunRestore: // read again, it would bring back a run that has ended and was deleted since
		in.takeOnce(r, ref, PlaceID(r), m, false)
		return
	case *events.TaskHeartbeat:
		if in.watch.heard(workflow, m.Token); len(m.Details) == 0 {
			in.Stats.Dropped.Add(1)
			return
		}
	case *events.TaskOutcome, *events.TaskNotified, *events.TaskWish, *events.RunArchived:
	}
	in.decide(&decision{ref: ref, raw: r, own: in.ended.late(workflow, msg), in: machine.Input{
		Workflow: workflow, Source: events.FromInbox, Inbox: msg,
	}})
}

// clone copies a value out of the fetch that brought it, so that a cached row
// that keeps a part of it does not keep the whole fetch.
func clone(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

// usualHeaders is how many headers our clients' commands have at most.
const usualHeaders = 8

// appendHeaders appends the headers of a record; their values alias it.
func appendHeaders(hs []events.Header, r *kgo.Record) []events.Header {
	for _, h := range r.Headers {
		hs = append(hs, events.Header{Key: h.Key, Value: h.Value})
	}
	return hs
}

// HeadersOf are the headers of a record, detached from it.
func HeadersOf(r *kgo.Record) []events.Header {
	hs := appendHeaders(nil, r)
	for i := range hs {
		hs[i].Value = clone(hs[i].Value)
	}
	return hs
}
