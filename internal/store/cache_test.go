package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/rows"
)

// model is a partition as it should be: rows as of every record, and what is in
// the store.
type model struct {
	t        *rapid.T
	store    *Store
	cache    *Cache
	now      map[rows.Key]string // as of the last record
	written  map[rows.Key]string // in the store
	records  [][]rows.Write      // not in the store
	first    uint64              // number of records[0]
	workflow []string
}

func (m *model) next() uint64 { return m.first + uint64(len(m.records)) }

// keys of workflow tables and partition tables that are likely to meet again.
func (m *model) key(label string) rows.Key {
	w := rapid.SampledFrom(m.workflow).Draw(m.t, label+" workflow")
	small := func(what string, most uint64) uint64 {
		return rapid.Uint64Range(0, most).Draw(m.t, label+" "+what)
	}
	switch rapid.IntRange(0, 7).Draw(m.t, label+" table") {
	case 0:
		return rows.Key{Table: rows.Header, Workflow: w}
	case 1:
		return rows.Key{Table: rows.Ready, Workflow: w, A: small("depth", 2), B: small("runnable", 300)}
	case 2:
		return rows.Key{Table: rows.Timer, A: small("due", 40), Workflow: w, B: small("runnable", 2)}
	case 3:
		return rows.Key{Table: rows.Ledger, Workflow: w, Sub: fmt.Sprint(small("id", 5))}
	case 4:
		return rows.Key{Table: rows.Outbox, A: 1, B: small("seq", 30), C: small("n", 2)}
	case 5:
		return rows.Key{Table: rows.Definition, Sub: fmt.Sprint(small("digest", 5))}
	default:
		return rows.Key{Table: rows.Fact, Workflow: w, A: small("fact", 300)}
	}
}

// record makes the changes of one record, and keeps the promise that a workflow
// without a header has no rows.
func (m *model) record() []rows.Write {
	var writes []rows.Write
	set := func(k rows.Key, row rows.Row) {
		_, there := m.now[k]
		w := rows.Write{Key: k, Row: row, Created: row != nil && !there && rapid.Bool().Draw(m.t, "created")}
		if i := slices.IndexFunc(writes, func(w rows.Write) bool { return w.Key == k }); i >= 0 {
			w.Created = writes[i].Created
			writes[i] = w
		} else {
			writes = append(writes, w)
		}
		if row == nil {
			delete(m.now, k)
		} else {
			m.now[k] = row.(*text).s
		}
	}
	most := 12
	if rapid.IntRange(0, 9).Draw(m.t, "many") == 0 {
		most = 400
	}
	for i := range rapid.IntRange(0, most).Draw(m.t, "writes") {
		k := m.key("write")
		own := k.Table < rows.Definition
		if rapid.IntRange(0, 2).Draw(m.t, "delete") > 0 {
			if own {
				set(rows.Key{Table: rows.Header, Workflow: k.Workflow}, &text{"header"})
			}
			set(k, &text{fmt.Sprintf("%d.%d", m.next(), i)})
			continue
		}
		set(k, nil)
		if k.Table == rows.Header {
			for _, other := range m.sorted(m.now) {
				if other.Table < rows.Definition && other.Workflow == k.Workflow {
					set(other, nil)
				}
			}
		}
	}
	return writes
}

func (m *model) sorted(of map[rows.Key]string) []rows.Key {
	var keys []rows.Key
	for k := range of {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, rows.Compare)
	return keys
}

func (m *model) Apply(t *rapid.T) {
	m.t = t
	writes := m.record()
	m.cache.Apply(writes, m.next())
	m.records = append(m.records, writes)
}

func (m *model) Write(t *rapid.T) {
	m.t = t
	if len(m.records) == 0 {
		return
	}
	n := rapid.IntRange(1, len(m.records)).Draw(t, "records")
	upto := m.first + uint64(n) - 1
	if err := m.store.Commit(mark(upto), m.cache.Unwritten(upto)); err != nil {
		t.Fatal(err)
	}
	m.cache.Written(upto)
	for _, writes := range m.records[:n] {
		for _, w := range writes {
			if w.Row == nil {
				delete(m.written, w.Key)
			} else {
				m.written[w.Key] = w.Row.(*text).s
			}
		}
	}
	m.records, m.first = m.records[n:], upto+1
}

func (m *model) Drop(t *rapid.T) {
	if rapid.IntRange(0, 5).Draw(t, "drop") > 0 {
		return
	}
	m.cache.Drop()
	m.first, m.records = m.next(), nil
	m.now = map[rows.Key]string{}
	for k, s := range m.written {
		m.now[k] = s
	}
}

func (m *model) Get(t *rapid.T) {
	m.t = t
	k := m.key("get")
	want, there := m.now[k]
	got := m.cache.Get(k, newText)
	if (got != nil) != there || there && got.(*text).s != want {
		t.Fatalf("%v is %v, want %q %v", k, got, want, there)
	}
}

func (m *model) Scan(t *rapid.T) {
	m.t = t
	from := m.key("scan")
	if rapid.Bool().Draw(t, "from the start") {
		from = rows.Key{Table: from.Table, Workflow: from.Workflow}
		if timeFirst(from.Table) {
			from.Workflow = ""
		}
	}
	limit := rapid.IntRange(1, 20).Draw(t, "limit")
	nested := rapid.Bool().Draw(t, "nested")
	var want, got []string
	for _, k := range m.sorted(m.now) {
		if len(want) < limit && rows.Within(from, k) && rows.Compare(k, from) >= 0 {
			want = append(want, fmt.Sprint(k, m.now[k]))
		}
	}
	m.cache.Scan(from, newText, func(k rows.Key, row rows.Row) bool {
		got = append(got, fmt.Sprint(k, row.(*text).s))
		if nested {
			m.Get(t)
		}
		return len(got) < limit
	})
	if !slices.Equal(got, want) {
		t.Fatalf("scan from %v:\n%q\nwant\n%q", from, got, want)
	}
}

// Check compares what may be known without reading, and the accounts.
func (m *model) Check(t *rapid.T) {
	s := m.cache.Stats()
	total, clean := int64(0), int64(0)
	pins := 0
	count := func(g *group) {
		total += g.bytes
		for _, tab := range g.tables {
			if tab == nil {
				continue
			}
			for _, chunk := range tab.chunks {
				for i, e := range chunk {
					if i > 0 && compare(&chunk[i-1].key, &e.key) >= 0 {
						t.Fatal("entries are out of order")
					}
					pins += int(e.pins)
					if e.pins == 0 {
						clean += int64(e.size)
					}
				}
			}
		}
	}
	count(m.cache.root)
	for _, g := range m.cache.groups {
		clean += groupCost
		count(g)
	}
	if total != s.Bytes || clean != m.cache.clean || pins != m.cache.Pending() {
		t.Fatalf("bytes %d, counted %d; clean %d, counted %d; pending %d, counted %d",
			s.Bytes, total, m.cache.clean, clean, m.cache.Pending(), pins)
	}
	if slack := int64(4 * groupCost); m.cache.clean > s.Limit+slack {
		t.Fatalf("%d bytes over a limit of %d", m.cache.clean, s.Limit)
	}
}

func TestCacheReadsLikeTheStateAsOfTheLastRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := Open(Options{Dir: "p0", FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		m := &model{
			t: t, store: s, first: 1,
			cache:    NewCache(s, rapid.SampledFrom([]int64{0, 4_000, 20_000, 1 << 30}).Draw(t, "limit")),
			now:      map[rows.Key]string{},
			written:  map[rows.Key]string{},
			workflow: []string{"a", "ab", "b"}[:rapid.IntRange(1, 3).Draw(t, "workflows")],
		}
		t.Repeat(rapid.StateMachineActions(m))
	})
}
