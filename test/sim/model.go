package sim

import (
	"fmt"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// model is a model of brokers. It has faults that the embedded broker cannot
// have: a log may lose its newest records, and the control records that end a transaction
// are written one after the other, a little later.
type model struct {
	logs    map[string][]*log
	txns    map[string]*coordinator
	groups  map[string]map[place]int64 // their offsets
	someday func(stream string, o *op) // lets an operation of the cluster itself happen later
	now     func(p int32) time.Time    // by the clock of a partition's leader
}

func newModel(topics map[string]*topic, someday func(string, *op), now func(int32) time.Time) *model {
	m := &model{now: now, logs: map[string][]*log{}, txns: map[string]*coordinator{}, groups: map[string]map[place]int64{}, someday: someday}
	for _, t := range topics {
		m.remake(t)
	}
	return m
}

func (m *model) remake(t *topic) {
	m.logs[t.name] = nil
	for p := range t.partitions {
		m.logs[t.name] = append(m.logs[t.name], &log{at: place{t.name, p}, stamped: t.stamped})
	}
	for _, offsets := range m.groups {
		maps.DeleteFunc(offsets, func(at place, _ int64) bool { return at.topic == t.name })
	}
}

func (m *model) log(at place) *log {
	if logs := m.logs[at.topic]; int(at.partition) < len(logs) && at.partition >= 0 {
		return logs[at.partition]
	}
	panic(fmt.Sprintf("sim: there is no partition %s", at))
}

func (m *model) append(rec *kgo.Record) (int64, error) {
	return m.log(placeOf(rec)).append(rec, nil, m.now(rec.Partition)), nil
}

func (m *model) readable(at place, from int64, epoch int32) bool {
	records, next, err := m.log(at).fetch(from, 1, int(epoch))
	return err != nil || len(records) > 0 || next > from
}

func (m *model) fetch(at place, from int64, epoch int32, most int) ([]*kgo.Record, int64, error) {
	return m.log(at).fetch(from, most, int(epoch)) // each cut makes an epoch
}

func (m *model) offsets(topic string, which which, ms int64) []int64 {
	var all []int64
	for _, l := range m.logs[topic] {
		switch which {
		case starts:
			all = append(all, l.start)
		case ends:
			all = append(all, l.end())
		case stable:
			all = append(all, l.stable())
		case stampedAt:
			all = append(all, l.since(ms))
		}
	}
	return all
}

func (m *model) epoch(at place) int32 { return m.log(at).epoch }

func (m *model) commit(group string, at place, offset int64) {
	if m.groups[group] == nil {
		m.groups[group] = map[place]int64{}
	}
	m.groups[group][at] = offset
}

func (m *model) committed(group string) map[place]int64 { return m.groups[group] }

func (m *model) uncommit(group string, at place) { delete(m.groups[group], at) }

func (m *model) expire(at place, start int64) { m.log(at).expire(start) }

func (m *model) close() {}
