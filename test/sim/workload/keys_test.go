package workload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// permits are journals of two partitions: a workflow that asks a key so often, and the key with what it says of that.
func permits(key string, limit events.KeyLimit, grants []int64, back bool) [][]*events.Record {
	var asking, granting []*events.Record
	at := func(list []*events.Record) events.Position {
		return events.Position{Epoch: 1, Seq: uint64(len(list) + 1)}
	}
	for i, time := range grants {
		asked := at(asking)
		runnable := events.RunnableID(i + 1)
		id := events.PermitID{Workflow: "w", Runnable: runnable, Asked: asked}
		asking = append(asking, &events.Record{Position: asked, Workflow: "w", Events: []events.Event{&events.PermitAsked{Runnable: runnable, Key: key, Limit: limit}}})
		asking = append(asking, &events.Record{Position: at(asking), Workflow: "w", Events: []events.Event{&events.RunnableDispatched{Runnable: runnable}}})
		says := []events.Event{&events.PermitQueued{Number: uint64(i + 1), Permit: id, Limit: limit}, &events.PermitIssued{Number: uint64(i + 1), Permit: id}}
		if back {
			asking = append(asking, &events.Record{Position: at(asking), Workflow: "w", Events: []events.Event{
				&events.PermitsReturned{Permits: []events.ReturnedPermit{{Key: key, Runnable: runnable, Asked: asked}}},
			}})
			says = append(says, &events.PermitOver{Number: uint64(i + 1), Permit: id})
		}
		granting = append(granting, &events.Record{Position: at(granting), Workflow: key, Time: time, Events: says})
	}
	return [][]*events.Record{asking, granting}
}

func TestWhatKeysMustNotGrantIsNoticed(t *testing.T) {
	concurrency, rate := events.KeyOf(events.ConcurrencyKey, "k"), events.KeyOf(events.RateKey, "k")
	three := []int64{1000, 1500, 2000}
	for _, c := range []struct {
		name     string
		journals [][]*events.Record
		want     string
	}{
		{"permits that come back", permits(concurrency, events.KeyLimit{Limit: 1}, three, true), ""},
		{"more than the limit", permits(concurrency, events.KeyLimit{Limit: 2}, three, false), "3 permits of the key key:concurrency/k are out, its limit is 2"},
		{"one that never comes back", permits(concurrency, events.KeyLimit{Limit: 3}, three[:1], false), "was never returned"},
		{"a rate that is used up", permits(rate, events.KeyLimit{Limit: 2, Per: 1000}, three, false), ""},
		{"a rate that is exceeded", permits(rate, events.KeyLimit{Limit: 2, Per: 1001}, three, false), "grants 3 permits within 1000 ms, its rate is 2 in 1001 ms"},
		{"one that nobody granted", permits(rate, events.KeyLimit{Limit: 2, Per: 1000}, three, false)[:1], "which nobody granted"},
		{"one that nobody asked for", [][]*events.Record{nil, permits(rate, events.KeyLimit{Limit: 2, Per: 1000}, three, false)[1]}, "which has not asked it"},
	} {
		err := CheckKeys(c.journals, false)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
