package partition

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/runtime"
)

func (r *rig) begin(topic string, p int32) int64 {
	r.t.Helper()
	starts, err := kadm.NewClient(r.cluster.Admin(r.t)).ListStartOffsets(context.Background(), topic)
	r.must(err)
	start, _ := starts.Lookup(topic, p)
	return start.Offset
}

// noted reports whether the newest record of partition 0 has a note with a word, once something has changed.
func (r *rig) noted(word string) bool {
	r.t.Helper()
	r.do("w", "input", `{"input": 7}`)
	<-time.After(5 * time.Second)
	var last runtime.Record
	r.eachOf(r.names.Authority(), func(k *kgo.Record) error {
		last = runtime.Record{}
		return json.Unmarshal(k.Value, &last)
	})
	return slices.ContainsFunc(last.Notes, func(n string) bool { return strings.Contains(n, word) })
}

// trimmed lets the owner of a partition trim soon, and keep little.
func trimmed(r *rig) {
	r.settings.Window, r.settings.History, r.settings.TrimEvery = 10*time.Minute, time.Minute, time.Minute
}

// What is decided, in a checkpoint and older than two windows goes, but for the
// record before the place of reading; the journal goes as far as its history.
func TestTheOwnerDeletesWhatNobodyNeeds(t *testing.T) {
	inBubble(t, func(r *rig) {
		trimmed(r)
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 3)
		sum := r.settled("w")
		commands, journal := r.end(r.names.Commands(), p), r.end(r.names.Journal(), p)
		<-time.After(5 * time.Minute)
		if at := r.begin(r.names.Commands(), p); at != 0 {
			t.Errorf("commands begin at %d within the window", at)
		}
		if at := r.begin(r.names.Journal(), p); at == 0 || at >= journal {
			t.Errorf("the journal of %d records begins at %d: what is older than its history is there, or nothing is left", journal, at)
		}
		<-time.After(30 * time.Minute)
		if at := r.begin(r.names.Commands(), p); at != commands-1 {
			t.Errorf("commands begin at %d two windows later, want %d", at, commands-1)
		}
		a.kill()
		r.forgetIn("a", p)
		b := r.start("b", p)
		defer b.leave()
		b.await(Owning)
		if r.has(p, "InputLost") != 0 {
			t.Error("trimming has lost inputs")
		}
		r.do("w", "input", `{"input": 7}`)
		if got := r.settled("w"); got != sum+7 {
			t.Errorf("sum is %d, want %d", got, sum+7)
		}
	})
}

// A planner that has been away for long finds its inputs.
func TestNothingIsDeletedWhileNobodyOwns(t *testing.T) {
	inBubble(t, func(r *rig) {
		trimmed(r)
		p := r.partitionOf("w")
		r.adder()
		a := r.start("a", p)
		r.counted("w", 1)
		r.settled("w")
		a.leave()
		id := r.send("w", "input", `{"input": 7}`)
		<-time.After(2 * time.Hour)
		b := r.start("a", p)
		defer b.leave()
		if r.reply(id, 1).Refusal != nil || r.settled("w") != 14 {
			t.Errorf("sum is %d, want 14", r.settled("w"))
		}
	})
}

// Where an archiver keeps what the journal has, the journal keeps what that has not committed, however old it is, and
// says so.
func TestTheJournalKeepsWhatTheArchiverHasNot(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		trimmed(r)
		r.settings.Archive = true
		p := int32(0)
		r.adder()
		a := r.start("a", p)
		defer a.leave()
		r.counted("w", 3)
		r.settled("w")
		journal, adm := r.names.Journal(), kadm.NewClient(r.cluster.Admin(r.t))
		<-time.After(time.Hour)
		if at := r.begin(journal, p); at != 0 {
			t.Errorf("the journal begins at %d before anything is archived", at)
		}
		if !r.noted("archiver") {
			t.Error("nobody is told that the journal is held")
		}
		var o kadm.Offsets
		o.AddOffset(journal, p, 3, -1)
		r.must(adm.CommitAllOffsets(context.Background(), r.names.ArchiverGroup(), o))
		<-time.After(10 * time.Minute)
		if at := r.begin(journal, p); at != 3 {
			t.Errorf("the journal begins at %d, and 3 records are archived", at)
		}
		o = nil
		o.AddOffset(journal, p, r.end(journal, p), -1)
		r.must(adm.CommitAllOffsets(context.Background(), r.names.ArchiverGroup(), o))
		<-time.After(10 * time.Minute)
		if at := r.begin(journal, p); at <= 3 {
			t.Errorf("the journal begins at %d, and all of it is archived", at)
		}
		if r.noted("archiver") {
			t.Error("the journal is said to be held still")
		}
	})
}
