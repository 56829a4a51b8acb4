package planner

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// signals knows the signals that nobody has taken yet, and which runnables wait for
// which. A signal is kept by its number; signals and runnables are found by name and key
// in one table of matches.
type signals struct{ *workflow }

// keptSignal is a signal that nobody has taken yet.
type keptSignal struct {
	Name     uint32 // in the definition's Signals
	Key      string
	Value    json.RawMessage
	Received int64 // Unix ms
	Expires  int64 // Unix ms
}

// Fields implements wire.Message.
func (s *keptSignal) Fields(c *wire.Codec) {
	wire.Int(c, 1, "name", &s.Name)
	wire.String(c, 2, "key", &s.Key)
	c.JSON(3, "value", &s.Value)
	wire.Int(c, 4, "received", &s.Received)
	wire.Int(c, 5, "expires", &s.Expires)
}

// signalCounts is in the header of a run that has received a signal. It is replaced as a
// whole: headers are copied, and share it.
type signalCounts struct {
	Received uint64 // also the number of the last one
	Kept     uint64
	Bytes    uint64 // of those that are kept
}

// Fields implements wire.Message.
func (n *signalCounts) Fields(c *wire.Codec) {
	wire.Int(c, 1, "received", &n.Received)
	wire.Int(c, 2, "kept", &n.Kept)
	wire.Int(c, 3, "bytes", &n.Bytes)
}

// signalled are the counts of a header.
func (h *header) signalled() signalCounts {
	if h.Signals == nil {
		return signalCounts{}
	}
	return *h.Signals
}

// side is what a match is of.
type side uint64

const (
	waits side = 0 // a runnable
	kept  side = 1 // a signal
)

func signalKey(wf string, n uint64) rows.Key {
	return rows.Key{Table: rows.Signal, Workflow: wf, A: n}
}

// matchKey orders matches by name, side, key and number. A key's length stands before
// it, so that no key is the beginning of another.
func matchKey(wf string, of side, name uint32, key string, n uint64) rows.Key {
	return rows.Key{
		Table: rows.Match, Workflow: wf, A: uint64(name), B: uint64(of),
		Sub: matchPrefix(key) + string(binary.BigEndian.AppendUint64(nil, n)),
	}
}

func matchPrefix(key string) string {
	return string(binary.BigEndian.AppendUint16(nil, uint16(len(key)))) + key
}

// oldest is the number of the oldest runnable or signal of a name and key; 0: there is
// none.
func (ss *signals) oldest(of side, name uint32, key string) (n uint64) {
	from, prefix := matchKey(ss.id, of, name, key, 0), matchPrefix(key)
	rows.Scan(ss.tx, from, func(k rows.Key, _ *present) bool {
		if k.A == from.A && k.B == from.B && strings.HasPrefix(k.Sub, prefix) {
			n = binary.BigEndian.Uint64([]byte(k.Sub[len(prefix):]))
		}
		return false
	})
	return n
}

// receive keeps a signal.
func (ss *signals) receive(e *events.SignalReceived) {
	h, n := ss.h(), ss.head.signalled()
	h.Signals = &signalCounts{Received: e.Signal, Kept: n.Kept + 1, Bytes: n.Bytes + uint64(len(e.Value))}
	if h.Status == Idle {
		ss.turnTo(Running)
	}
	name, _ := ss.graph().SignalNamed(e.Name)
	s := &keptSignal{Name: uint32(name), Key: e.Key, Value: e.Value, Received: ss.now, Expires: e.Expires}
	ss.tx.Create(signalKey(ss.id, e.Signal), s)
	ss.tx.Create(matchKey(ss.id, kept, s.Name, s.Key, e.Signal), &present{Since: ss.now})
	ss.tx.Create(expiryKey(ss.id, e.Signal, s), &machine.Timer{})
}

// expiryKey is the timer of a signal that is kept.
func expiryKey(wf string, n uint64, s *keptSignal) rows.Key {
	return rows.Key{Table: rows.Timer, Workflow: wf, A: uint64(s.Expires), B: n, C: machine.TimerSignal}
}

// drop forgets a signal, and says what it was.
func (ss *signals) drop(n uint64) keptSignal {
	s := *rows.Get[keptSignal](ss.tx, signalKey(ss.id, n))
	ss.tx.Delete(signalKey(ss.id, n))
	ss.tx.Delete(matchKey(ss.id, kept, s.Name, s.Key, n))
	ss.tx.Delete(expiryKey(ss.id, n, &s))
	counts := ss.head.signalled()
	counts.Kept--
	counts.Bytes -= uint64(len(s.Value))
	ss.h().Signals = &counts
	return s
}

// taken completes a runnable with the value of a signal.
func (ss *signals) taken(e *events.SignalTaken) {
	r := ss.runs.change(e.Runnable)
	ss.runs.leave(e.Runnable, r)
	ss.runs.becomes(e.Fact, e.Runnable, r, ss.drop(e.Signal).Value)
}
