package partition

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// later puts the header of the format after the known one in the place of a record's own.
func later(k *kgo.Record, known int) *kgo.Record {
	headers := []kgo.RecordHeader{kafka.Header(wire.FormatHeader, strconv.AppendInt(nil, int64(known)+1, 10))}
	for _, h := range k.Headers {
		if h.Key != wire.FormatHeader {
			headers = append(headers, h)
		}
	}
	k.Headers = headers
	return k
}

// What a newer program has written stops the partition that it is of, with the place
// and the versions, and no other; nothing of it is dropped, and nobody takes over again
// and again to find the same.
func TestWhatANewerProgramHasWrittenStopsItsPartition(t *testing.T) {
	for name, c := range map[string]struct {
		live   bool // it comes while the partition is owned
		writes func(r *rig, p int32)
		knows  int
		what   string
	}{
		"a report": {true, func(r *rig, p int32) {
			k := kafka.Placed(r.names.Inbox(), p, []byte("w"), []byte("of a later form"))
			r.must(r.producer.ProduceSync(context.Background(), later(k, events.InboxVersion)).FirstErr())
		}, events.InboxVersion, "inbox/"},
		"a record of the journal": {false, func(r *rig, p int32) {
			all := r.lawful(p)
			last := all[len(all)-1]
			rec := &events.Record{
				Position: events.Position{Epoch: last.Position.Epoch, Seq: last.Position.Seq + 1}, Workflow: "w", Time: last.Time,
				Events: []events.Event{&events.WorkflowStarted{}},
			}
			r.must(r.producer.ProduceSync(context.Background(), later(journal.Encode(rec, r.names, p), events.Version)).FirstErr())
		}, events.Version, "journal/"},
		"a row of the changelog": {false, func(r *rig, p int32) {
			r.forgetIn("a", p)
			k := kafka.Placed(r.names.State(), p, rows.Key{Table: rows.Header, Workflow: "w"}.Append(nil), []byte("of a later form"))
			r.must(r.producer.ProduceSync(context.Background(), later(k, events.Version)).FirstErr())
		}, events.Version, "state/"},
		"a store": {false, func(r *rig, p int32) { r.format(p, events.Version+1) }, events.Version, "the store in a-"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				p := r.partitionOf("w")
				r.adder()
				a := r.start("a", p)
				r.counted("w", 3)
				r.settled("w")
				if !c.live {
					a.kill()
					c.writes(r, p)
					a = r.start("a", p, (p+1)%r.n)
				} else {
					c.writes(r, p)
				}
				defer a.leave()
				why := a.await(Blocked).Why
				versions := fmt.Sprintf("has format version %d, and this program reads versions up to %d", c.knows+1, c.knows)
				if !strings.Contains(why, c.what) || !strings.Contains(why, versions) {
					t.Errorf("the reason is %q, want it to name %s and both versions", why, c.what)
				}
				end := r.end(r.names.Journal(), p)
				<-time.After(time.Minute)
				if n := r.end(r.names.Journal(), p); n != end {
					t.Errorf("%d more records are in the journal", n-end)
				}
				if !c.live && a.owners[1].Status().State != Owning {
					t.Errorf("the other partition is %+v", a.owners[1].Status())
				}
			})
		})
	}
}

// A foreign record that says it is of a later format is got rid of: the inbox is deleted
// up to behind it, and an operator accepts what is gone.
func TestAForeignRecordOfALaterFormatIsGotRidOf(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 3)
		sum := r.settled("w")
		bad := kafka.Placed(r.names.Inbox(), p, []byte("w"), []byte("foreign"))
		r.must(r.producer.ProduceSync(context.Background(), later(bad, events.InboxVersion)).FirstErr())
		a.await(Blocked)
		a.leave()
		end := r.end(r.names.Inbox(), p)
		r.purge(r.names.Inbox(), p, end)
		b := r.start("a", p)
		defer b.leave()
		b.await(Blocked)
		r.accept(p, events.FromInbox.String(), end-1, end)
		b.await(Owning)
		r.do("w", "resume", `{}`)
		r.do("w", "input", `{"input": 7}`)
		if got := r.settled("w"); got != sum+7 {
			t.Errorf("sum is %d, want %d", got, sum+7)
		}
	})
}

// format writes the row that says which version a store's rows have.
func (r *rig) format(p int32, version uint64) {
	r.t.Helper()
	db, err := pebble.Open(fmt.Sprintf("a-%d", p), &pebble.Options{FS: r.fs, Logger: quiet{}})
	r.must(err)
	r.must(db.Set(rows.Key{Table: rows.Metadata, A: 3}.Append(nil), wire.Marshal(&formatRow{version}), nil))
	r.must(errors.Join(db.Flush(), db.Close()))
}

// formatRow is that row.
type formatRow struct{ version uint64 }

// Fields implements wire.Message.
func (f *formatRow) Fields(c *wire.Codec) { wire.Int(c, 1, "version", &f.version) }

// quiet is a pebble.Logger.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}
