package loop

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// reject records an input that cannot be understood; its bytes go to the dlq
// and the partition moves on (J3).
func (in *intake) reject(r *kgo.Record, ref events.InputRef, why *events.CommandError) {
	in.rejectOf(validWorkflow(r.Key), r, ref, why)
}

// rejectOf does the same of a workflow, or of none.
func (in *intake) rejectOf(workflow string, r *kgo.Record, ref events.InputRef, why *events.CommandError) {
	in.Stats.Rejected.Add(1)
	in.decide(&decision{ref: ref, raw: r,
		in:  machine.Input{Workflow: workflow, Source: ref.Source, ReplyTo: replyToOf(r)},
		own: &events.InputRejected{Reason: Shortened(why.Code + ": " + why.Message), Path: why.Path},
	})
}

// forward records that a key belongs to another partition; the produce to the
// right one is its effect (J3). What cannot be produced again, as its id makes it
// larger than a record may be, or as it came compressed, is rejected.
func (in *intake) forward(r *kgo.Record, ref events.InputRef) {
	limit := topics.Default().MaxBytes(in.Names, r.Topic)
	if n := kafka.BatchBytes(forwarded(r, ref.Source)); n > int(limit) {
		in.rejectOf("", r, ref, &events.CommandError{Code: "too_large",
			Message: fmt.Sprintf("the key belongs to another partition, and forwarding the record takes %d bytes, the limit is %d", n, limit)})
		return
	}
	in.Stats.Forwarded.Add(1)
	in.decide(&decision{ref: ref, raw: r,
		in:  machine.Input{Source: ref.Source},
		own: &events.InputForwarded{Partition: uint32(kafka.PartitionFor(r.Key, in.Partitions))},
	})
}

// forwarded is a record as it is produced again.
func forwarded(r *kgo.Record, s events.Source) *kgo.Record {
	out := kafka.Keyed(r.Topic, r.Key, r.Value)
	for _, h := range forwardHeaders(r, s) {
		out.Headers = append(out.Headers, kafka.Header(h.Key, h.Value))
	}
	return out
}

// forwardHeaders are a forwarded record's headers: a command without an id gets its
// place as its id first, so that it stays the same command, and every command its
// stamp, so that it stays as old as it is.
func forwardHeaders(r *kgo.Record, s events.Source) []events.Header {
	hs := HeadersOf(r)
	if s != events.FromCommands {
		return hs
	}
	id := PlaceID(r)
	if cmd, bad := events.ParseCommand(r.Key, hs, r.Value, id); bad == nil && cmd.ID == id && cmd.Source == "" {
		hs = append(hs, events.Header{Key: events.HeaderID, Value: []byte(id)})
	}
	return append(hs, events.Header{Key: events.HeaderWritten, Value: strconv.AppendInt(nil, r.Timestamp.UnixMilli(), 10)})
}

func deadLetter(r *kgo.Record, at events.Position, o *originalRow) []byte {
	l := events.Letter{
		ID: at.String(), Reason: o.Reason, Path: o.Path, Workflow: o.Workflow,
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Time: r.Timestamp.UnixMilli(),
		Headers: []events.LetterHeader{}, Key: r.Key, Value: r.Value,
	}
	for _, h := range r.Headers {
		l.Headers = append(l.Headers, events.LetterHeader{Key: h.Key, Value: h.Value})
	}
	b, err := json.Marshal(l)
	if err != nil {
		panic(fmt.Sprintf("encoding a dead letter: %v", err))
	}
	return b
}

// validWorkflow is the key where it is a workflow's, so that the rejection
// stands in its history.
func validWorkflow(key []byte) string {
	if events.CheckWorkflowID(string(key)) != nil {
		return ""
	}
	return string(key)
}

// replyToOf reads which client waits for the answer to a command that cannot be read.
func replyToOf(r *kgo.Record) events.ReplyTo {
	var to events.ReplyTo
	for _, h := range r.Headers {
		switch strings.ToLower(h.Key) {
		case events.HeaderReplyTo:
			to.Address = string(h.Value)
		case events.HeaderReplyID:
			to.ID = string(h.Value)
		}
	}
	return to
}

// rejectionCode is the code at the beginning of a rejection's reason.
func rejectionCode(reason string) string {
	code, _, _ := strings.Cut(reason, ":")
	return code
}
