package view

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/search"
)

const manyWorkflows = 2_500

// searched draws workflows of few words, so that filters choose some.
func searched(rnd *rand.Rand, n int) []events.Summary {
	all := make([]events.Summary, n)
	for i := range all {
		s := &all[i]
		*s = testStatus(fmt.Sprintf("%s-%d", pick(rnd, "order", "Mail", "étude"), i))
		s.Status = pick(rnd, "running", "idle", "failed", "completed")
		s.Definition = events.DefinitionRef{Name: pick(rnd, "orders", "mails"), Version: pick(rnd, "1", "2"), Digest: "sha256:" + pick(rnd, "aa", "bb")}
		s.Created = events.Stamp(1_770_000_000_000 + rnd.Int64N(int64(n)))
		s.Updated = s.Created + events.Stamp(rnd.Int64N(1000))
		s.Position = events.Position{Epoch: 1, Seq: uint64(i + 1)}
		if rnd.IntN(2) == 0 {
			s.Labels, _ = json.Marshal(map[string]any{"customer": pick(rnd, "Acme", "say \"x\"", ""), "size": rnd.IntN(3)})
		}
		if s.Status == "failed" {
			s.Failure = drawFailure(rnd)
		} else if rnd.IntN(8) == 0 {
			s.ConditionErrors = &events.ConditionErrors{Count: 2, First: []events.Failure{*drawFailure(rnd), *drawFailure(rnd)}}
		}
	}
	return all
}

func drawFailure(rnd *rand.Rand) *events.Failure {
	return &events.Failure{Component: pick(rnd, "charge", "ship"), Runnable: "r1", Error: events.TaskError{
		Type: pick(rnd, "timeout", "declined"), Message: pick(rnd, "the Card was declined", "no answer\nin 5s", ""),
	}}
}

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }

func drawFilter(rnd *rand.Rand) (f search.Filter) {
	at := func() time.Time { return time.UnixMilli(1_770_000_000_000 + rnd.Int64N(manyWorkflows)) }
	for _, draw := range []func(){
		func() { f.Status = pick(rnd, "failed", "idle", "paused") },
		func() { f.Definition = pick(rnd, "orders", "orders@2", "mails@3", "sha256:aa") },
		func() { f.Labels = map[string]string{"customer": pick(rnd, "Acme", `say "x"`, "")} },
		func() { f.Labels = map[string]string{"size": pick(rnd, "1", "7")} },
		func() { f.Error = pick(rnd, "timeout", "declined", "time") },
		func() { f.Component = pick(rnd, "charge", "ship", "mail") },
		func() {
			f.Text = pick(rnd, "CARD declined", "ÉTUDE", "order 7 acme", "size=1", "answer 5s", "nowhere")
		},
		func() { f.CreatedAfter = at() },
		func() { f.CreatedBefore = at().Add(time.Duration(rnd.IntN(2)) * time.Microsecond) },
		func() { f.UpdatedAfter = at() },
		func() { f.UpdatedBefore = at() },
	} {
		if rnd.IntN(4) == 0 {
			draw()
		}
	}
	return f
}

// chosen says by itself what a filter means.
func chosen(f search.Filter, s *events.Summary) bool {
	labels := map[string]any{}
	if len(s.Labels) > 0 {
		if err := json.Unmarshal(s.Labels, &labels); err != nil {
			panic(err)
		}
	}
	ok := f.Status == "" || f.Status == s.Status
	d := s.Definition
	ok = ok && (f.Definition == "" || slices.Contains([]string{d.Name, d.Name + "@" + d.Version, d.Digest}, f.Definition))
	for name, want := range f.Labels {
		has, there := labels[name]
		ok = ok && there && fmt.Sprint(has) == want
	}
	created, updated := time.UnixMilli(int64(s.Created)), time.UnixMilli(int64(s.Updated))
	ok = ok && (f.CreatedAfter.IsZero() || created.After(f.CreatedAfter)) && (f.CreatedBefore.IsZero() || created.Before(f.CreatedBefore))
	ok = ok && (f.UpdatedAfter.IsZero() || updated.After(f.UpdatedAfter)) && (f.UpdatedBefore.IsZero() || updated.Before(f.UpdatedBefore))
	var failures []events.Failure
	if s.Failure != nil {
		failures = append(failures, *s.Failure)
	}
	if s.ConditionErrors != nil {
		failures = append(failures, s.ConditionErrors.First...)
	}
	ok = ok && (f.Error == "" && f.Component == "" || slices.ContainsFunc(failures, func(x events.Failure) bool {
		return (f.Error == "" || f.Error == x.Error.Type) && (f.Component == "" || f.Component == x.Component)
	}))
	text := s.ID + "\x00" + d.Name
	for name, value := range labels {
		text += fmt.Sprintf("\x00%s=%v", name, value)
	}
	for _, x := range failures {
		text += "\x00" + x.Component + "\x00" + x.Error.Type + "\x00" + x.Error.Message
	}
	for _, word := range strings.Fields(f.Text) {
		ok = ok && strings.Contains(strings.ToLower(text), strings.ToLower(word))
	}
	return ok
}

// A search finds what a look at each workflow finds, newest first, each once, however the
// pages are cut and however early they end.
func TestASearchFindsWhatALookAtEachFinds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	v := openTestView(t, "")
	defer closeTestView(t, v)
	all := searched(rnd, manyWorkflows)
	var records []*kgo.Record
	for i := range all {
		value, err := json.Marshal(all[i])
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, &kgo.Record{Key: []byte(all[i].ID), Value: value, Offset: int64(i)})
	}
	takeAll(t, v, records)
	slices.SortFunc(all, func(a, b events.Summary) int {
		if a.Created != b.Created {
			return int(b.Created - a.Created)
		}
		return strings.Compare(a.ID, b.ID)
	})
	found := 0
	for n := range 150 {
		f := drawFilter(rnd)
		var want []string
		for i := range all {
			if chosen(f, &all[i]) {
				want = append(want, all[i].ID)
			}
		}
		v.mostScanned = pick(rnd, 100, 999, MaxScanned)
		if got := foundAll(t, v, f, pick(rnd, 7, 100, 1000)); !slices.Equal(got, want) {
			t.Fatalf("filter %d, %s, %d looks: %d are found, %d fit", n, f, v.mostScanned, len(got), len(want))
		}
		found += len(want)
	}
	if found < manyWorkflows {
		t.Errorf("all filters together choose %d: too few to tell", found)
	}
}

// foundAll are the ids on all pages of a search.
func foundAll(t *testing.T, v *View, f search.Filter, limit int) (ids []string) {
	t.Helper()
	var from []byte
	for {
		p, err := v.List(f, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Items) > limit || p.LookedAt > v.mostScanned || (p.LookedAt > 0) != (p.Next != "" && len(p.Items) < limit) {
			t.Fatalf("%s: a page of %d has %d, next %q, looked at %d of at most %d", f, limit, len(p.Items), p.Next, p.LookedAt, v.mostScanned)
		}
		for _, item := range p.Items {
			var s struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(item, &s); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, s.ID)
		}
		if p.Next == "" {
			return ids
		}
		if from, err = search.ParseCursor(p.Next); err != nil {
			t.Fatal(err)
		}
	}
}

// A page goes on behind its place whatever happened to what stood there: nothing is shown
// twice, and what is older is not passed by.
func TestPagesOfASearchAreStable(t *testing.T) {
	v := openTestView(t, "")
	defer closeTestView(t, v)
	takeAll(t, v, statusRecords(t, 5, "1.2"))
	first, err := v.List(search.Filter{}, nil, 2)
	if err != nil || len(first.Items) != 2 {
		t.Fatalf("%d items, %v", len(first.Items), err)
	}
	rest := foundAll(t, v, search.Filter{}, 2)[2:]
	newer := testStatus("newer")
	newer.Created += 1000
	value, err := json.Marshal(newer)
	if err != nil {
		t.Fatal(err)
	}
	var gone struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(first.Items[1], &gone); err != nil {
		t.Fatal(err)
	}
	takeAll(t, v, []*kgo.Record{{Key: []byte("newer"), Value: value, Offset: 100}, {Key: []byte(gone.ID), Offset: 101}})
	from, err := search.ParseCursor(first.Next)
	if err != nil {
		t.Fatal(err)
	}
	second, err := v.List(search.Filter{}, from, 100)
	if err != nil || len(second.Items) != len(rest) {
		t.Errorf("behind the first page there are %d, %v; want %d", len(second.Items), err, len(rest))
	}
}

// BenchmarkSearch looks at as many workflows as one request does, and finds none.
func BenchmarkSearch(b *testing.B) {
	v := openTestView(b, b.TempDir())
	for from, all := 0, searched(rand.New(rand.NewPCG(1, 1)), MaxScanned); from < len(all); from += 1000 {
		var records []*kgo.Record
		for i, s := range all[from : from+1000] {
			value, err := json.Marshal(s)
			if err != nil {
				b.Fatal(err)
			}
			records = append(records, &kgo.Record{Key: []byte(s.ID), Value: value, Offset: int64(from + i)})
		}
		takeAll(b, v, records)
	}
	if err := v.db.Flush(); err != nil {
		b.Fatal(err)
	}
	for _, where := range []string{"q=nowhere", "label.customer=nobody", "updated_before=2020-01-01T00:00:00Z"} {
		b.Run(where, func(b *testing.B) {
			f, err := search.ParseWhere(where, time.Now())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if p, err := v.List(f, nil, 100); err != nil || len(p.Items) > 0 {
					b.Fatal(len(p.Items), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxScanned, "ns/workflow")
		})
	}
	closeTestView(b, v)
}
