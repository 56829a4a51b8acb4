package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

// share gives the steps of a workflow keys that others have too. How high a key's limit is,
// its name says.
func (d Dice) share(w *Workflow) {
	for _, c := range w.Graph.Components {
		if c.kind != step || c.needs == nil || c.reacts != nil || c.Acts.External || c.needs["start_timeout_ms"] != nil || !d.One(2) {
			continue
		}
		limit := d.Between(1, 2)
		c.needs["concurrency"] = map[string]any{"key": fmt.Sprintf("'shared-%d'", limit), "limit": limit}
		if d.One(3) {
			c.needs["priority"] = Pick(d, "low", "high")
		}
		c.own = own(false, c.needs)
	}
}

// pace gives the steps of a workflow rates that others have too. How many there are in how many
// milliseconds, the name of the key says.
func (d Dice) pace(w *Workflow) {
	for _, c := range w.Graph.Components {
		if c.kind != step || c.needs == nil || c.reacts != nil || c.Acts.External || c.needs["start_timeout_ms"] != nil || !d.One(2) {
			continue
		}
		limit, per := d.Between(2, 4), Pick(d, 400, 6000, 15_000) // some are longer than a takeover takes
		if c.inner {
			per = 400 // each of many elements asks
		}
		c.needs["rate_limit"] = map[string]any{"key": fmt.Sprintf("'paced-%d-%d'", limit, per), "limit": limit, "per_ms": per}
		c.own = own(false, c.needs)
	}
}

// doubts reports whether some lost attempt may be held or asked after.
func (p *Plan) doubts() bool {
	for _, w := range p.Workflows {
		for _, c := range w.Graph.Components {
			if c.Acts.Doubt != 0 {
				return true
			}
		}
	}
	return false
}

// Permits is what the journals of all partitions say of permits.
type Permits struct {
	asked    map[events.PermitID]string // the key
	issued   map[events.PermitID]string
	over     map[events.PermitID]bool
	used     map[events.PermitID]bool // by an attempt
	returned map[events.PermitID]bool // by its workflow
	denied   map[events.PermitID]bool // by a breaker
	failed   map[events.PermitID]bool // by its workflow, as denied
	verdicts map[events.PermitID]map[events.Verdict]bool
}

func newPermits() *Permits {
	set := func() map[events.PermitID]bool { return map[events.PermitID]bool{} }
	return &Permits{
		asked: map[events.PermitID]string{}, issued: map[events.PermitID]string{}, over: set(), used: set(), returned: set(),
		denied: set(), failed: set(), verdicts: map[events.PermitID]map[events.Verdict]bool{},
	}
}

func isBreaker(key string) bool { return strings.HasPrefix(key, events.KeyOf(events.BreakerKey, "")) }

// CheckKeys holds the journals of all partitions against what keys promise: no key has more
// permits out than its limit, each is granted once, to one that asked, is used by one attempt
// at most, and comes back; no rate has granted more than its limit in its time, and breakers do as their attempts say. doubtful: records are gone that may have said so.
func CheckKeys(journals [][]*events.Record, doubtful bool) error {
	p := newPermits()
	var errs []error
	for _, records := range journals {
		errs = append(errs, p.workflows(records))
	}
	for _, records := range journals {
		errs = append(errs, p.keys(records, doubtful))
	}
	for id := range p.used {
		if p.issued[id] == "" && !doubtful {
			errs = append(errs, complain(id.Workflow, "an attempt of %s has the permit %s, which nobody granted", id.Workflow, id))
		}
	}
	for id := range p.failed {
		if !p.denied[id] && !doubtful {
			errs = append(errs, complain(id.Workflow, "%s of %s fails as denied, and no breaker has denied %s", id.Runnable, id.Workflow, id))
		}
	}
	return errors.Join(errs...)
}

// workflows follows who asks, and who begins an attempt with what was granted.
func (p *Permits) workflows(records []*events.Record) error {
	var errs []error
	type runnable struct {
		workflow string
		id       events.RunnableID
	}
	waits := map[runnable][]events.PermitID{}
	for _, rec := range records {
		for _, e := range rec.Events {
			switch e := e.(type) {
			case *events.WorkflowStarted:
				for r := range waits {
					if r.workflow == rec.Workflow {
						delete(waits, r)
					}
				}
			case *events.PermitAsked:
				if !e.First.IsZero() {
					continue // it only asks again
				}
				id := events.PermitID{Workflow: rec.Workflow, Runnable: e.Runnable, Asked: rec.Position}
				r := runnable{rec.Workflow, e.Runnable}
				p.asked[id], waits[r] = e.Key, append(waits[r], id)
			case *events.RunnableDispatched:
				r := runnable{rec.Workflow, e.Runnable}
				for _, id := range waits[r] {
					p.used[id] = true
				}
				delete(waits, r)
			case *events.AttemptDenied:
				r := runnable{rec.Workflow, e.Runnable}
				waits[r] = slices.DeleteFunc(waits[r], func(id events.PermitID) bool {
					if p.asked[id] != e.Key {
						return false
					}
					p.failed[id] = true
					return true
				})
			case *events.PermitsReturned:
				errs = append(errs, p.judged(rec, e)...)
				for _, one := range e.Permits {
					id := events.PermitID{Workflow: rec.Workflow, Runnable: one.Runnable, Asked: one.Asked}
					p.returned[id] = true
					r := runnable{rec.Workflow, one.Runnable}
					waits[r] = slices.DeleteFunc(waits[r], func(other events.PermitID) bool { return other == id })
				}
			}
		}
	}
	return errors.Join(errs...)
}

// rate is what a rate has granted.
type rate struct {
	limit events.KeyLimit
	times []int64 // Unix ms
}

// granted notes one permit more.
func (r *rate) granted(rec *events.Record) error {
	r.times = append(r.times, rec.Time)
	first := len(r.times) - 1 - int(r.limit.Limit)
	if first < 0 || rec.Time-r.times[first] >= int64(r.limit.Per) {
		return nil
	}
	return complain(rec.Workflow, "record %s: the key %s grants %d permits within %d ms, its rate is %d in %d ms",
		rec.Position, rec.Workflow, r.limit.Limit+1, rec.Time-r.times[first], r.limit.Limit, r.limit.Per)
}

// keys follows what keys grant.
func (p *Permits) keys(records []*events.Record, doubtful bool) error {
	var errs []error
	held, limit := map[string]map[events.PermitID]bool{}, map[string]uint64{}
	rates, fuses := map[string]*rate{}, map[string]*fuse{}
	for _, rec := range records {
		if !strings.HasPrefix(rec.Workflow, events.KeyPrefix) {
			continue
		}
		key := rec.Workflow
		if isBreaker(key) {
			if fuses[key] == nil {
				fuses[key] = &fuse{holders: map[events.PermitID]int{}}
			}
			errs = append(errs, p.breaker(rec, fuses[key], doubtful)...)
		}
		for _, e := range rec.Events {
			switch e := e.(type) {
			case *events.PermitQueued:
				limit[key] = e.Limit.Limit
				if rates[key] == nil && e.Limit.Per > 0 && !isBreaker(key) {
					rates[key] = &rate{limit: e.Limit}
				}
				if p.asked[e.Permit] != key && !doubtful {
					errs = append(errs, complain(key, "the key %s queues %s, which has not asked it", key, e.Permit))
				}
			case *events.PermitIssued:
				if r := rates[key]; r != nil { // a request that is repeated while its grant is under way is another one
					p.issued[e.Permit] = key
					errs = append(errs, r.granted(rec))
					continue
				}
				if held[key] == nil {
					held[key] = map[events.PermitID]bool{}
				}
				if p.issued[e.Permit] != "" && !p.over[e.Permit] {
					errs = append(errs, complain(key, "record %s grants %s of the key %s again", rec.Position, e.Permit, key))
				}
				p.issued[e.Permit], held[key][e.Permit] = key, true
				if n := uint64(len(held[key])); n > limit[key] && !isBreaker(key) {
					errs = append(errs, complain(key, "record %s: %d permits of the key %s are out, its limit is %d", rec.Position, n, key, limit[key]))
				}
			case *events.PermitOver:
				p.over[e.Permit] = true
				delete(held[key], e.Permit)
				if !p.returned[e.Permit] && !doubtful {
					errs = append(errs, complain(key, "record %s takes %s back, which its workflow has not returned", rec.Position, e.Permit))
				}
			}
		}
	}
	for key, some := range held { // order: the errors are sorted by whoever shows them
		for id := range some {
			if p.returned[id] && !doubtful {
				errs = append(errs, complain(key, "the permit %s of the key %s was returned and is out still", id, key))
			} else if !doubtful {
				errs = append(errs, complain(key, "the permit %s of the key %s was never returned", id, key))
			}
		}
	}
	return errors.Join(errs...)
}
