package sim

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// decides is a record of partition 0 about a place of an input log.
func decides(s events.Source, generation uint32, offset int64, es ...events.Event) *events.Record {
	return &events.Record{Input: events.InputRef{Source: s, Generation: generation, Offset: offset}, Events: es}
}

func TestTheAuditOfInputsNoticesWhatIsReadOutOfOrder(t *testing.T) {
	const commands, inbox = events.FromCommands, events.FromInbox
	again := &events.ReplayRequested{Cursor: "commands@1"}
	cut := &events.InputLogTruncated{Log: commands, Generation: 1, Expected: 4, Resume: 2}
	for name, c := range map[string]struct {
		records []*events.Record
		sound   bool
	}{
		"in order, some dropped":        {[]*events.Record{decides(commands, 0, 0), decides(inbox, 0, 0), decides(commands, 0, 4)}, true},
		"twice":                         {[]*events.Record{decides(commands, 0, 3), decides(commands, 0, 3)}, false},
		"again, as it was asked for":    {[]*events.Record{decides(commands, 0, 3, again), decides(commands, 0, 1), decides(commands, 0, 5)}, true},
		"again, from too early":         {[]*events.Record{decides(commands, 0, 3, again), decides(commands, 0, 0)}, false},
		"again, twice for one request":  {[]*events.Record{decides(commands, 0, 3, again), decides(commands, 0, 2), decides(commands, 0, 2)}, false},
		"again, of the other log":       {[]*events.Record{decides(inbox, 0, 3), decides(commands, 0, 3, again), decides(inbox, 0, 3)}, false},
		"again, of no log":              {[]*events.Record{decides(commands, 0, 3, &events.ReplayRequested{}), decides(commands, 0, 3)}, false},
		"behind a jump":                 {[]*events.Record{decides(commands, 0, 3), decides(0, 0, 0, cut), decides(commands, 1, 2)}, true},
		"behind a jump, from too early": {[]*events.Record{decides(commands, 0, 3), decides(0, 0, 0, cut), decides(commands, 1, 1)}, false},
		"of a generation that is over":  {[]*events.Record{decides(commands, 0, 3), decides(0, 0, 0, cut), decides(commands, 0, 4)}, false},
		"of a generation never begun":   {[]*events.Record{decides(commands, 1, 3)}, false},
		"a jump of another log's":       {[]*events.Record{decides(0, 0, 0, &events.InputLogTruncated{Log: inbox, Generation: 1})}, false},
	} {
		bubble(func() {
			w := newWorld(Options{Seed: 1})
			w.replaced[w.injector.input(commands, 0)] = true
			w.audit.follow(0, c.records)
			if w.failed() == c.sound {
				t.Errorf("%s: %v", name, w.err())
			}
			w.shutdown()
		})
	}
}

func TestTheAuditOfInputsNoticesCommandsThatWerePassedOver(t *testing.T) {
	const commands = events.FromCommands
	cut := &events.InputLogTruncated{Log: commands, Generation: 1, Expected: 9, Resume: 2}
	for name, c := range map[string]struct {
		ids     []string
		records []*events.Record // in their order, those of commands by the id in their place
		sound   bool
	}{
		"all decided":                         {[]string{"a", "b"}, []*events.Record{decides(commands, 0, 0), decides(commands, 0, 1)}, true},
		"one passed over":                     {[]string{"a", "b", "c"}, []*events.Record{decides(commands, 0, 0), decides(commands, 0, 2)}, false},
		"one not read yet":                    {[]string{"a", "b", "c"}, []*events.Record{decides(commands, 0, 0)}, true},
		"a repetition":                        {[]string{"a", "a", "c"}, []*events.Record{decides(commands, 0, 0), decides(commands, 0, 2)}, true},
		"passed over, and given again":        {[]string{"a", "b", "b"}, []*events.Record{decides(commands, 0, 0), decides(commands, 0, 2)}, false},
		"read again behind a jump":            {[]string{"a", "b", "d", "d", "e"}, []*events.Record{decides(commands, 0, 0), decides(commands, 0, 1), decides(commands, 0, 3), decides(0, 0, 0, cut), decides(commands, 1, 4)}, true},
		"passed over behind a jump":           {[]string{"a", "b", "c", "d"}, []*events.Record{decides(commands, 0, 0), decides(commands, 0, 1), decides(0, 0, 0, cut), decides(commands, 1, 3)}, false},
		"passed over, decided by nobody else": {[]string{"a", "", "c"}, []*events.Record{decides(commands, 0, 0), decides(commands, 0, 2)}, false},
	} {
		bubble(func() {
			w := newWorld(Options{Seed: 1})
			w.replaced[w.injector.input(commands, 0)] = true
			for _, id := range c.ids {
				headers := []kgo.RecordHeader{kafka.Header(events.HeaderType, []byte(events.CommandType("pause"))), kafka.Header(events.HeaderSource, []byte("sim"))}
				if id != "" {
					headers = append(headers, kafka.Header(events.HeaderID, []byte(id)))
				}
				w.injector.put(kafka.Placed(w.c.names.Commands(), 0, []byte("w"), []byte("{}"), headers...))
			}
			all := w.c.visible(place{w.c.names.Commands(), 0})
			decided := map[string][]*events.Record{}
			for _, rec := range c.records {
				if rec.Input.Source == commands {
					k := all[rec.Input.Offset]
					rec.Input.Stamp = k.Timestamp.UnixMilli()
					key := "w\x00sim\x00" + header(k, events.HeaderID)
					decided[key] = append(decided[key], rec)
				}
			}
			journals := make([][]*events.Record, w.plan.Partitions)
			journals[0] = c.records
			w.audit.auditCommands(journals, decided)
			if w.failed() == c.sound {
				t.Errorf("%s: %v", name, w.err())
			}
			w.shutdown()
		})
	}
}
