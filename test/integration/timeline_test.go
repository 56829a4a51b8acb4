//go:build integration

package integration

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// waiting is how many commands come while a killed planner's partitions have no owner: what is left of them to replay can
// be seen then.
func waiting(t *testing.T) int {
	text, given := os.LookupEnv("HEDDLE_WAITING")
	if !given {
		return 8_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("HEDDLE_WAITING: %v", err)
	}
	return n
}

// moment is something that has happened to a partition.
type moment struct {
	at   time.Time
	what string
}

// tellTakeover logs what became of each partition that was taken over since a planner was killed: what readiness has
// published of it, and what its journal has.
func (d *deployment) tellTakeover(h *heard, killed time.Time) {
	d.t.Helper()
	taken := 0
	for p := range int32(partitions) {
		takeover := d.takeover(p, killed)
		if len(takeover) == 0 {
			continue
		}
		taken++
		all := append(takeover, h.about(p, killed)...)
		slices.SortStableFunc(all, func(a, b moment) int { return a.at.Compare(b.at) })
		d.t.Logf("TIMELINE of partition %d", p)
		all = slices.Insert(all, 0, moment{killed, "kill -9 of its owner"})
		for _, m := range all {
			d.t.Logf("TIMELINE %8.3f s  %s", m.at.Sub(killed).Seconds(), m.what)
		}
	}
	if taken == 0 {
		d.t.Error("no partition was taken over")
	}
}

// takeover is what the journal of a partition has since a time of how another planner became its owner, and when that
// decided the first command; nothing if none did.
func (d *deployment) takeover(p int32, since time.Time) (all []moment) {
	d.t.Helper()
	r, err := journal.NewReader(kafka.Config{Brokers: strings.Split(d.brokers, ","), Prefix: d.prefix})
	if err != nil {
		d.t.Fatal(err)
	}
	defer r.Close()
	from, err := r.Begin(d.t.Context(), p)
	if err == nil {
		_, err = r.Read(d.t.Context(), journal.Range{Partition: p, From: from, To: journal.Now}, func(e journal.Entry) error {
			at := time.UnixMilli(e.Record.Time)
			switch {
			case at.Before(since):
			case len(all) > 0 && e.Record.Workflow != "":
				all = append(all, moment{at, "journal: the first command that waited is decided"})
				return journal.Stop
			case e.Record.Replaces > 0:
				all = append(all, moment{at, fmt.Sprintf("journal: epoch %d replaces %d: %s", e.Record.Position.Epoch, e.Record.Replaces, named(e.Record.Events))})
			}
			return nil
		})
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

func named(all []events.Event) string {
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = events.Name(e)
		switch e := e.(type) {
		case *events.AuthorityMarkedStale:
			names[i] += fmt.Sprintf(" (%s)", e.Reason)
		case *events.AuthorityAcquired:
			names[i] += fmt.Sprintf(" (%s, until %s)", e.Owner, time.UnixMilli(e.LeasedUntil).UTC().Format(time.TimeOnly))
		}
	}
	return strings.Join(names, ", ")
}

// about are the changes of a partition's readiness since a time.
func (h *heard) about(p int32, since time.Time) (all []moment) {
	last := ""
	for _, w := range h.since(since) {
		if int(p) >= len(w.Partitions) {
			continue
		}
		now := cmp.Or(strings.Join(w.Partitions[p].Readiness.Reasons, "; "), "ready")
		if owner := w.Partitions[p].Authority.Owner; owner != nil {
			now += ", owner " + *owner
		}
		if now != last {
			all = append(all, moment{w.at, "readiness: " + now})
		}
		last = now
	}
	return all
}
