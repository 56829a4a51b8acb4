package archiver

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
)

// runs are the runs that the store has of a workflow, in order.
func (r *rig) runs(id string) []store.Item {
	r.t.Helper()
	page, err := r.store.List(r.ctx, store.Filter{Prefix: archive.RunsOf(id)}, "")
	r.must(err)
	return page.Items
}

// all waits until all of the journal is committed.
func (r *rig) all() {
	r.t.Helper()
	r.comes("all is committed", func() bool { return r.committed() == int64(len(r.list)) })
}

// A run whose beginning is gone from the journal is not taken for the one that the store has of its workflow, neither by the archiver
// that meets the gap nor by one after it.
func TestARunBehindAGapIsNoEarlierOne(t *testing.T) {
	for what, later := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.starts("a")
			stop := r.archiver(nil)
			r.ends("a")
			r.hears(1)
			r.all()
			stop()
			first := r.runs("a")[0]
			r.command("a", "delete", `{"force":true}`)
			r.starts("a")
			run := r.position(len(r.list) - 1)
			r.starts("b")
			r.trim(int64(len(r.list) - 1))
			r.answers("a", func(kind string) (body, refusal string) {
				if kind == "results" {
					return `{"status":"completed","results":{"done":2}}`, ""
				}
				return summary("a", run), ""
			})
			r.ends("b")
			if later {
				stop := r.archiver(nil)
				r.hears(2)
				r.all()
				stop()
			}
			r.ends("a")
			r.archiver(nil)
			r.comes("the second run is archived", func() bool { return len(r.runs("a")) == 2 })
			r.all()
			have := r.runs("a")
			if have[0].End != first.End || have[1].Labels[archive.LabelLacks] != "true" || have[1].End != 1 {
				t.Fatalf("the archive has %+v, and had %+v", have, first)
			}
		})
	}
}

// A run that goes on behind a gap is what it was.
func TestARunGoesOnBehindAGap(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	run := r.position(1)
	all := func(c *Config) { c.Settings.All = true }
	stop := r.archiver(all)
	r.comes("its beginning is archived", func() bool { return len(r.runs("a")) == 1 })
	r.all()
	stop()
	r.starts("b")
	r.starts("c")
	r.trim(int64(len(r.list) - 1))
	r.answers("a", func(string) (body, refusal string) { return summary("a", run), "" })
	r.ends("a")
	r.archiver(all)
	r.hears(1)
	r.is("a", "completed")
}

// What a run that has been over for long is said to have done is another one's, whoever lost its beginning.
func TestARunThatIsOverDoesNothing(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	stop := r.archiver(nil)
	r.ends("a")
	r.hears(1)
	r.all()
	stop()
	r.command("a", "delete", `{"force":true}`)
	r.starts("a")
	last := len(r.list) - 1
	r.placed(archive.Place{Offset: int64(last + 1), After: r.position(last)}) // as if its beginning had been passed over
	r.answers("a", func(string) (body, refusal string) { return summary("a", r.position(last)), "" })
	r.ends("a")
	r.archiver(nil)
	r.comes("it is archived on its own", func() bool { return len(r.runs("a")) == 2 })
}

// Records that are gone are counted once.
func TestAGapIsCountedOnce(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	r.starts("b")
	r.trim(2)
	for _, want := range []float64{2, 0} {
		reg := prometheus.NewRegistry()
		stop := r.archiver(func(c *Config) { c.Registry = reg })
		r.comes("it follows the journal", func() bool { return r.committed() >= 2 })
		lost := r.gauged(reg, "heddle_archiver_lost_records_total")
		stop()
		if lost != want {
			t.Fatalf("%v records are counted as lost, want %v", lost, want)
		}
	}
}

// gauged is the value of a metric, added over its labels.
func (r *rig) gauged(reg *prometheus.Registry, name string) (sum float64) {
	r.t.Helper()
	all, err := reg.Gather()
	r.must(err)
	for _, f := range all {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// A run that waits to be archived names itself: it is, whatever its planner refuses to say.
func TestARunThatWaitsNamesItself(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	run := r.position(1)
	r.starts("b")
	r.trim(2)
	r.answers("a", func(string) (body, refusal string) { return "", "internal_error" })
	r.append(&events.Record{Workflow: "a", Events: []events.Event{&events.ArchiveAwaited{Run: run}}})
	r.archiver(nil)
	r.hears(1)
	if r.told[0].Run != run {
		t.Fatalf("its planner hears of the run %s, want %s", r.told[0].Run, run)
	}
	_, snap, recs := r.run("a")
	if !snap.Lacks || snap.Whole || snap.Why == "" || len(recs) != 1 {
		t.Fatalf("the archive has %+v of it, and %d records", snap, len(recs))
	}
}

// The archive says of a run that it is deleted, whether it was closed before or not, and whether the archiver remembers it or not.
func TestDeletedRunsAreSaidToBe(t *testing.T) {
	for what, restart := range map[string]bool{"remembered": false, "after a restart": true} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.starts("a")
			stop := r.archiver(nil)
			r.ends("a")
			r.hears(1)
			r.all()
			if restart {
				stop()
			}
			r.command("a", "delete", `{"force":true}`)
			if restart {
				r.archiver(nil)
			}
			r.comes("it is said to be deleted", func() bool { _, snap, _ := r.run("a"); return snap.Deleted })
			r.all()
			item, snap, recs := r.run("a")
			if len(recs) != 2 || !snap.Whole || !snap.Over || string(snap.Results) == "" || item.Labels["status"] != "completed" {
				t.Fatalf("the archive has %+v, %+v, %d records", item, snap, len(recs))
			}
		})
	}
}
