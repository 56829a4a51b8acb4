package partition

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// chunkBytes is about what one chunk of a redo log holds.
const chunkBytes = 256 << 10

// redoLogs are the redo logs of a partition's changelog.
type redoLogs struct {
	counts []store.RedoLog // as the marker says; changed by copying
	spent  []spentLog      // whose chunks may be there, and are deleted with the next part
}

// spentLog is a redo log that does not count.
type spentLog struct {
	store.RedoLog
	doubtful bool // a marker that may be the newest says that it counts
}

// end ends an owner's log, whose rows are at their keys from now on, or in another log.
func (l *redoLogs) end(owner string) {
	i := slices.IndexFunc(l.counts, func(r store.RedoLog) bool { return r.Owner == owner })
	if i < 0 {
		return
	}
	l.spent = append(l.spent[:len(l.spent):len(l.spent)], spentLog{l.counts[i], true})
	l.counts = slices.Concat(l.counts[:i], l.counts[i+1:])
}

// free is an area that no log uses.
func (l *redoLogs) free() uint64 {
	for area := uint64(0); ; area++ {
		if !l.uses(area) {
			return area
		}
	}
}

func (l *redoLogs) uses(area uint64) bool {
	return slices.ContainsFunc(l.counts, func(r store.RedoLog) bool { return r.Area == area }) ||
		slices.ContainsFunc(l.spent, func(r spentLog) bool { return r.Area == area })
}

// tombstones delete the chunks of logs that do not count. Of those that the newest
// marker may name only one with a marker may be rid.
func (l *redoLogs) tombstones(topic string, p int32, withMarker bool) []*kgo.Record {
	var all []*kgo.Record
	for _, s := range l.spent {
		if s.doubtful && !withMarker {
			continue
		}
		for n := range s.Chunks {
			all = append(all, kafka.Placed(topic, p, store.RedoKey(s.Area, n).Append(nil), nil, kafka.StateFormat...))
		}
	}
	return all
}

// written are the logs once a part is known to be written.
func (l redoLogs) written(withMarker bool) redoLogs {
	l.spent = slices.DeleteFunc(slices.Clone(l.spent), func(s spentLog) bool { return withMarker || !s.doubtful })
	return l
}

// chunkCounts are how many chunks of redo logs a changelog has, by area.
type chunkCounts struct{ of map[uint64]uint64 }

// note takes a record of the changelog.
func (c *chunkCounts) note(key, value []byte) {
	if value == nil || len(key) == 0 || rows.Table(key[0]) != rows.Redo {
		return
	}
	k, err := rows.ParseKey(key)
	if err != nil {
		return // it names nothing
	}
	if c.of == nil {
		c.of = map[uint64]uint64{}
	}
	c.of[k.A] = max(c.of[k.A], k.B+1)
}

// logs are the redo logs of a changelog whose marker names those that count: an
// owner that died before it could write a log whole has left others.
func (c *chunkCounts) logs(count []store.RedoLog) redoLogs {
	l := redoLogs{counts: count}
	for _, area := range slices.Sorted(maps.Keys(c.of)) {
		if !l.uses(area) {
			l.spent = append(l.spent, spentLog{RedoLog: store.RedoLog{Area: area, Chunks: c.of[area]}})
		}
	}
	return l
}

// chunks are the records of rows that go to the redo log at hand.
func (j *job) chunks(part []store.DueRow) []*kgo.Record {
	var records []*kgo.Record
	var chunk store.Chunk
	size := 0
	flush := func() {
		key := store.RedoKey(j.redo.Area, j.redo.Chunks).Append(nil)
		records = append(records, kafka.Placed(j.r.host.names.State(), j.r.o.p, key, wire.Marshal(&chunk), kafka.StateFormat...))
		j.redo.Chunks++
		chunk.Rows, size = chunk.Rows[:0], 0
	}
	for i := range part {
		row := &part[i]
		if n := len(row.Key) + len(row.Value); size > 0 && size+n > chunkBytes {
			flush()
		}
		chunk.Rows = append(chunk.Rows, store.ChunkRow{Key: row.Key, Value: row.Value, Dead: row.Value == nil})
		size += len(row.Key) + len(row.Value)
	}
	flush()
	return records
}
