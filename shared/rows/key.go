package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Table is a kind of row. Numbers are kept for ever: they are in stores and in
// the state changelog.
type Table uint8

// Tables of a workflow (services/planner). Their keys begin with the workflow.
const (
	Header     Table = 1  // A: 0 the header, 1 the setup, then contexts that open attempts need
	Fact       Table = 2  // A: fact; large ones only
	Runnable   Table = 3  // A: runnable; open, failed, skipped and cancelled ones; watched by the partition
	Join       Table = 4  // A: scope, B: component
	Arm        Table = 5  // A: scope, B: component, C: arm
	Scope      Table = 6  // A: scope
	Ready      Table = 7  // A: rank of its priority, B: depth, C: runnable; the admission queue
	Latest     Table = 8  // A: component
	Suppressed Table = 9  // A: number; activations that were suppressed
	Page       Table = 10 // A: number; facts that are small, many in a row
	InHand     Table = 11 // A: number; what decisions have left to do, read by the partition
	Elements   Table = 12 // A: runnable, B: number; of the list that it goes through, many in a row
	Fold       Table = 13 // A: scope, or the fact with the list; B: component
	State      Table = 14 // A: component, B: 0 its state, 1 what waits to be folded (C: number), 2 what an input sees of it (C: input)
	Settled    Table = 15 // A: number; inputs that have settled and are not forgotten, where so much is not kept
	Signal     Table = 16 // A: number; signals that nobody has taken
	Match      Table = 17 // A: name of a signal, B: 0 runnables that wait, 1 signals that are kept, Sub: key and number
	Watch      Table = 18 // A: scope, B: component; runnables that wait for a silence
	Racer      Table = 19 // A: scope, B: component, C: runnable; open ones that a race may make pointless
	Kept       Table = 20 // A: runnable, Sub: key; what its attempts keep for the next ones
	Timer      Table = 64 // A: due (Unix ms), Workflow, B: runnable, C: kind; ordered by due
	Entity     Table = 36 // Workflow; entities that a list shows while they have rows; ordered over all entities
)

// Tables of the partition: their rows belong to no single workflow and are due
// in every checkpoint, whatever a workflow's strategy says.
const (
	Definition Table = 32 // Sub: digest; pinned definitions (services/planner)
	Pin        Table = 33 // Sub: digest; how many runs need them (services/planner)

	Received    Table = 34 // Workflow: the receiver, then Sub: id of a message that it has had
	ReceivedAge Table = 35 // as Expiry, of those

	Dispatch Table = 37 // A: number; dispatch records that have ended, many in a row

	Position Table = 65 // A: input log
	Ledger   Table = 66 // Workflow, then Sub: source and id of the input
	Expiry   Table = 67 // A: time (Unix ms / 64), B: block of records (number / 128); names of ledger entries by age
	Outbox   Table = 68 // A: epoch, B: seq, C: number
	Runtime  Table = 69 // authority and counters
	Metadata Table = 70 // store bookkeeping; never in the changelog
	Dirty    Table = 71 // store bookkeeping; never in the changelog
	Redo     Table = 72 // A: area, B: number; in the changelog only: rows that do not count yet (internal/store)
)

var tableNames = map[Table]string{
	Header: "header", Fact: "fact", Runnable: "runnable", Join: "join", Arm: "arm", Scope: "scope", Ready: "ready",
	Latest: "latest", Suppressed: "suppressed", Page: "page", InHand: "in hand", Elements: "elements", Fold: "fold", State: "state", Settled: "settled", Signal: "signal", Match: "match", Watch: "watch", Racer: "racer", Kept: "kept", Timer: "timer", Definition: "definition", Pin: "pin", Position: "position",
	Dispatch: "dispatch", Ledger: "ledger", Expiry: "expiry", Received: "received", ReceivedAge: "received by age", Entity: "entity", Outbox: "outbox", Runtime: "runtime", Metadata: "metadata", Dirty: "dirty",
	Redo: "redo",
}

func (t Table) String() string {
	if name, ok := tableNames[t]; ok {
		return name
	}
	return fmt.Sprintf("table %d", uint8(t))
}

// OwnEnd is above the numbers of the tables that belong to one workflow alone, but Timer and Entity.
const OwnEnd Table = 21

// Own are the tables that belong to one workflow alone, but Timer and Entity, by number.
var Own = func() (all []Table) {
	for t := Header; t < OwnEnd; t++ {
		if _, ok := tableNames[t]; ok {
			all = append(all, t)
		}
	}
	return all
}()

// Owner is the workflow whose journal records alone change the row at k, so
// that its header's applied position guards the row; or "" for rows of the
// partition, which the marker's applied position guards.
func (k Key) Owner() string {
	if k.Table < Definition || k.Table == Timer || k.Table == Entity {
		return k.Workflow
	}
	return ""
}

// timeFirst tables are ordered by A before the workflow, so that one scan reads them over all
// workflows.
func timeFirst(t Table) bool {
	return t == Timer || t == Entity || t == Expiry || t == ReceivedAge || t == Outbox || t == Dirty
}

// Key names a row within its partition. It is comparable. Sub is for keys that
// are texts (Ledger, Kept); it may hold any bytes.
type Key struct {
	Table    Table
	Workflow string
	A, B, C  uint64
	Sub      string
}

// Append encodes k so that bytes order as (Table, Workflow, A, B, C, Sub), or
// as (Table, A, Workflow, B, C, Sub) for tables that are ordered by time.
func (k Key) Append(b []byte) []byte {
	b = append(b, byte(k.Table))
	if timeFirst(k.Table) {
		b = appendOrdered(b, k.A)
		b = appendName(b, k.Workflow)
	} else {
		b = appendName(b, k.Workflow)
		b = appendOrdered(b, k.A)
	}
	b = appendOrdered(b, k.B)
	b = appendOrdered(b, k.C)
	return append(b, k.Sub...)
}

// AppendOf appends the encoding of a workflow's key, made from that of the same
// key without the workflow.
func AppendOf(b []byte, workflow string, key []byte) ([]byte, error) {
	name := 1 // place of the empty name
	if len(key) > 1 && timeFirst(Table(key[0])) {
		name += 1 + int(key[1])
	}
	if len(key) <= name || key[name] != 0 {
		return nil, fmt.Errorf("%w: %x", errKey, key)
	}
	b = append(b, key[:name]...)
	b = appendName(b, workflow)
	return append(b, key[name+1:]...), nil
}

// Prefix encodes what all rows of a workflow's table begin with.
func Prefix(t Table, workflow string) []byte {
	return appendName([]byte{byte(t)}, workflow)
}

var errKey = errors.New("malformed row key")

// ParseKey is the inverse of Append.
func ParseKey(b []byte) (Key, error) {
	if len(b) == 0 {
		return Key{}, errKey
	}
	k := Key{Table: Table(b[0])}
	p := parser{b: b[1:]}
	if timeFirst(k.Table) {
		k.A, k.Workflow = p.number(), p.name()
	} else {
		k.Workflow, k.A = p.name(), p.number()
	}
	k.B, k.C = p.number(), p.number()
	if p.bad {
		return Key{}, fmt.Errorf("%w: %x", errKey, b)
	}
	k.Sub = string(p.b)
	return k, nil
}

// appendOrdered writes a number in few bytes that still order by value: the
// count of its significant bytes, then these, big end first.
func appendOrdered(b []byte, v uint64) []byte {
	n := (bits.Len64(v) + 7) / 8
	b = append(b, byte(n))
	var be [8]byte
	binary.BigEndian.PutUint64(be[:], v)
	return append(b, be[8-n:]...)
}

// appendName writes a name, which holds no zero byte, and its end.
func appendName(b []byte, s string) []byte { return append(append(b, s...), 0) }

type parser struct {
	b   []byte
	bad bool
}

func (p *parser) number() uint64 {
	if len(p.b) == 0 || p.b[0] > 8 || len(p.b) < 1+int(p.b[0]) {
		p.bad = true
		return 0
	}
	n := int(p.b[0])
	if n > 0 && p.b[1] == 0 { // a number has one encoding
		p.bad = true
		return 0
	}
	var v uint64
	for _, x := range p.b[1 : 1+n] {
		v = v<<8 | uint64(x)
	}
	p.b = p.b[1+n:]
	return v
}

func (p *parser) name() string {
	for i, x := range p.b {
		if x == 0 {
			s := string(p.b[:i])
			p.b = p.b[i+1:]
			return s
		}
	}
	p.bad = true
	return ""
}
