package sim

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

// course is how the records of a journal went through one input log.
type course struct {
	next       int64 // offset to read
	generation uint32
	from       []int64 // by generation: where its reading began
}

func newCourse() *course { return &course{from: []int64{0}} }

// jump goes on elsewhere, in the next generation.
func (c *course) jump(generation uint32, next int64) {
	c.generation, c.next = generation, next
	c.from = append(c.from, next)
}

// readIn is the generation in which an offset was read last, in its turn.
func (c *course) readIn(offset int64) uint32 {
	at := len(c.from) - 1
	for c.from[at] > offset {
		at--
	}
	return uint32(at)
}

// follow is the way of a partition's records through its input logs. It holds
// that each place is decided once, in order, and in the log's generation (J3):
// positions go back only where a record says so, and in the log that it names.
func (au *audit) follow(p int32, records []*events.Record) map[events.Source]*course {
	all := map[events.Source]*course{events.FromCommands: newCourse(), events.FromInbox: newCourse()}
	for _, rec := range records {
		if c := all[rec.Input.Source]; c != nil {
			if rec.Input.Offset < c.next || rec.Input.Generation != c.generation {
				au.failAbout(ofPartition(p), "partition %d, record %s decides %s@%d (generation %d) again or out of order: %d is next (generation %d)",
					p, rec.Position, rec.Input.Source, rec.Input.Offset, rec.Input.Generation, c.next, c.generation)
			}
			c.next = rec.Input.Offset + 1
		}
		for _, e := range rec.Events {
			if lost, ok := e.(*events.InputLost); ok && lost.By.Who == "" {
				au.failAbout(ofPartition(p), "partition %d, record %s passes %s %d to %d by, and no operator has accepted that", p, rec.Position, lost.Log, lost.From, lost.To-1)
			}
			if cut, ok := e.(*events.InputLogTruncated); ok && !au.replaced[au.injector.input(cut.Log, p)] {
				au.failAbout(ofPartition(p), "partition %d, record %s says that its %s are not those that were read: %s; none but the oldest are gone", p, rec.Position, cut.Log, cut.Reason)
			}
			jump(all, e)
		}
	}
	return all
}

// jump moves the logs by an event.
func jump(all map[events.Source]*course, e events.Event) {
	switch e := e.(type) {
	case *events.InputLogTruncated:
		all[e.Log].jump(e.Generation, e.Resume)
	case *events.InputLost:
		all[e.Log].jump(e.Generation, e.To)
	case *events.ReplayRequested:
		for s, c := range all {
			if r, err := runtime.ParseReplayRequest(e.Cursor, s.String()); err == nil {
				c.next = r.Offset
			}
		}
	}
}

// auditCommands holds that no command was passed over (property 8): each that
// its log still has, below the last one that was decided, has a record of its
// own, or one of the same id that was there when it was read. That a caller gave
// the command again, and was heard then, changes nothing here.
func (au *audit) auditCommands(journals [][]*events.Record, decided map[string][]*events.Record) {
	for p, records := range journals {
		c := au.follow(int32(p), records)[events.FromCommands]
		own := map[command]bool{}
		for _, rec := range records {
			if rec.Input.Source == events.FromCommands {
				own[commandOf(&rec.Input)] = true
			}
		}
		for _, k := range au.c.visible(place{au.c.names.Commands(), int32(p)}) {
			if k.Offset >= c.next {
				break
			}
			if !own[command{k.Offset, k.Timestamp.UnixMilli()}] && !repeats(k, c.readIn(k.Offset), decided) {
				au.failAbout(au.workflow(string(k.Key)), "partition %d: the command %s %q of %s at %d was passed over: no record decides it, and %d is next",
					p, header(k, events.HeaderType), header(k, events.HeaderID), k.Key, k.Offset, c.next)
			}
		}
	}
}

// command is a place of a log of commands, with the stamp of what is there.
type command struct{ offset, stamp int64 }

// commandOf is the command that a record of a journal has decided, with its stamp as it
// stands in the log: what counts of one that was ahead is less.
func commandOf(in *events.InputRef) command { return command{in.Offset, in.Stamp + in.Ahead} }

// repeats reports whether a command has the id of one that was decided before it was
// read in its turn, in a generation.
func repeats(k *kgo.Record, generation uint32, decided map[string][]*events.Record) bool {
	var headers []events.Header
	for _, h := range k.Headers {
		headers = append(headers, events.Header{Key: h.Key, Value: h.Value})
	}
	cmd, bad := events.ParseCommand(k.Key, headers, k.Value, "")
	if bad != nil {
		return false
	}
	for _, rec := range decided[cmd.Workflow+"\x00"+cmd.DedupeID()] {
		in := rec.Input
		if in.Source != events.FromCommands || in.Generation != generation || in.Offset < k.Offset {
			return true
		}
	}
	return false
}
