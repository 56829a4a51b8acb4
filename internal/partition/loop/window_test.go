package loop

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

const window = 20 * time.Second

func newWindowModel(t *testing.T) *model {
	t.Helper()
	m := newModel(t, Settings{Window: window, Lease: time.Hour})
	m.command("start", "w", "start", `{"definition":"counter"}`)
	m.take()
	return m
}

func (m *model) take() {
	m.t.Helper()
	m.mustStep()
	m.ack()
}

// feed sends an input under an id, with a stamp.
func (m *model) feed(id string, stamp time.Time) {
	m.t.Helper()
	m.command(id, "w", "input", `{"input":1}`).Timestamp = stamp
	m.take()
}

// fed is how many inputs the journal has under an id.
func (m *model) fed(id string) (n int) {
	m.t.Helper()
	for i := range m.journal {
		if rec := m.record(i); strings.HasSuffix(rec.ID, "\x00"+id) && m.names(i) == "InputAccepted RunnableDispatched " {
			n++
		}
	}
	return n
}

// busy sends so many other commands that old entries are looked for.
func (m *model) busy(stamp time.Time) {
	m.t.Helper()
	for i := range expireEvery {
		m.command(fmt.Sprintf("%d-%d", len(m.journal), i), "w", "input", `{"input":1}`).Timestamp = stamp
	}
	m.take()
}

// An owner's clock may be behind the broker's: a command is forgotten by its
// stamp, as it is judged, and not earlier by the time of its record.
func TestACommandIsKnownAsLongAsItsStampSays(t *testing.T) {
	m := newWindowModel(t)
	stamp := m.now.Add(900 * time.Millisecond)
	m.feed("x", stamp)
	last := stamp.Add(window - 10*time.Millisecond)
	m.now = last.Add(-900 * time.Millisecond)
	m.busy(last)
	for name, again := range map[string]time.Time{"read again": stamp, "repeated at the edge": last} {
		m.feed("x", again)
		if n := m.fed("x"); n != 1 {
			t.Errorf("%s: decided %d times", name, n)
		}
	}
}

// What a command is told when it is read first, it is told whenever it is read
// again: also a repetition, which leaves nothing in the journal.
func TestARepetitionIsNeverDecidedWhenItIsReadAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
		want  int
	}{
		{"within the window", window - time.Second, 1},
		{"behind the window", window + time.Second, 2}, // a command of its own
		{"long behind the window", 3 * window, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newWindowModel(t)
			for range expireEvery { // tasks, whose outcomes are records without a stamp
				m.command(fmt.Sprint("task", len(m.batch.Inputs[events.FromCommands])), "w", "input", `{"input":1}`)
			}
			m.feed("x", m.now)
			tasks := m.of(machine.TaskEffect)
			m.now = m.now.Add(c.after)
			repeated := m.now
			m.feed("x", repeated)
			if n := m.fed("x"); n != c.want {
				t.Fatalf("decided %d times, want %d", n, c.want)
			}
			for _, task := range tasks {
				m.outcome(task, "1")
			}
			m.take()
			m.feed("x", repeated)
			m.now = m.now.Add(window - time.Second)
			m.busy(m.now)
			m.feed("x", repeated)
			if n := m.fed("x"); n != c.want {
				t.Errorf("read again, it was decided %d times, want %d", n, c.want)
			}
			m.mustFold()
		})
	}
}

// mustFold checks that replaying the journal gives the ledger that the owner has.
func (m *model) mustFold() {
	m.t.Helper()
	again := newModel(m.t, m.p.Settings)
	again.replay(m, 0)
	live, folded := m.ledger(), again.ledger()
	for k, v := range live {
		if !bytes.Equal(folded[k], v) {
			m.t.Errorf("row %+v is %x, replayed %x", k, v, folded[k])
		}
	}
	if len(live) != len(folded) {
		m.t.Errorf("the ledger has %d rows, replayed %d", len(live), len(folded))
	}
}

func (m *model) ledger() map[rows.Key][]byte {
	all := map[rows.Key][]byte{}
	tx := rows.Begin(m)
	rows.Scan(tx, rows.Key{Table: rows.Ledger}, func(k rows.Key, row *ledgerRow) bool {
		all[k] = wire.Marshal(row)
		return true
	})
	rows.Scan(tx, rows.Key{Table: rows.Expiry}, func(k rows.Key, row *expiryPage) bool {
		all[k] = wire.Marshal(row)
		return true
	})
	return all
}

// Entries do not stay for ever.
func TestTheLedgerForgets(t *testing.T) {
	m := newWindowModel(t)
	m.busy(m.now)
	for range 8 {
		m.now = m.now.Add(window)
		m.busy(m.now)
	}
	m.mustFold()
	if n := len(m.ledger()); n > 4*(expireEvery+2) {
		t.Errorf("after nine windows with %d commands each there are %d rows", expireEvery, n)
	}
}

// However many commands come within a moment, no row names them all.
func TestARowOfTheLedgersAgesIsBounded(t *testing.T) {
	m := newWindowModel(t)
	for range 20 {
		m.busy(m.now)
	}
	m.mustFold()
	named := 0
	rows.Scan(rows.Begin(m), rows.Key{Table: rows.Expiry}, func(k rows.Key, page *expiryPage) bool {
		if len(page.Entries) > 1<<expiryBlock {
			t.Errorf("%v names %d entries", k, len(page.Entries))
		}
		named += len(page.Entries)
		return true
	})
	if want := 20 * expireEvery; named < want {
		t.Errorf("%d entries are named, want %d at least", named, want)
	}
}
