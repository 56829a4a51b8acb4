package rows

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/wire"
)

// Row is the content of a row. It is immutable once committed.
type Row = wire.Message

// Touched is a row that many records look into. Touch reads a little of each of
// its parts, for a caller that wants it near; what it returns has no meaning.
type Touched interface{ Touch() uint64 }

// Maker makes empty rows of one type.
type Maker interface{ Make() Row }

// Source is the state that a Tx starts from. A failing read panics with Fault.
type Source interface {
	// Get returns the row at k, or nil. fresh makes an empty row of the
	// table's type to decode into when the row is not in memory.
	Get(k Key, fresh Maker) Row
	// Scan visits, in key order, the rows of k's table and workflow from k on,
	// until visit returns false. For tables ordered by time it visits from k
	// on regardless of the workflow.
	Scan(k Key, fresh Maker, visit func(Key, Row) bool)
}

// Fault is the panic of a Source that cannot read: the state is unknown, not wrong.
type Fault struct{ Err error }

func (f Fault) Error() string { return "reading state: " + f.Err.Error() }

// Write is one changed row; a nil Row deletes it. Created says that nothing was
// there before this Tx.
type Write struct {
	Key     Key
	Row     Row
	Created bool
}

// Tx collects the changes that one journal record makes. It belongs to one
// goroutine. Reads see its own changes.
type Tx struct {
	src    Source
	writes []Write
	index  map[Key]int // only once writes are many
}

// Begin starts a Tx over src.
func Begin(src Source) *Tx { return &Tx{src: src} }

// Writes are the changes so far, one per key, in order of first change, without
// rows that were created and deleted again. The slice is valid until Reset.
func (tx *Tx) Writes() []Write {
	kept := tx.writes[:0]
	for _, w := range tx.writes {
		if w.Row != nil || !w.Created {
			kept = append(kept, w)
		}
	}
	if len(kept) != len(tx.writes) {
		tx.writes, tx.index = kept, nil
	}
	return kept
}

// Reset forgets all changes and makes the Tx ready for the next record.
func (tx *Tx) Reset() {
	clear(tx.writes)
	tx.writes = tx.writes[:0]
	if cap(tx.writes) > mostWrites {
		tx.writes = nil
	}
	tx.index = nil
}

const (
	indexFrom  = 12
	mostWrites = 256 // whose room is kept for the next record
)

func (tx *Tx) find(k Key) int {
	if tx.index != nil {
		if i, ok := tx.index[k]; ok {
			return i
		}
		return -1
	}
	for i := range tx.writes {
		if tx.writes[i].Key == k {
			return i
		}
	}
	return -1
}

// Put sets the row at k. The Tx owns row from here on.
func (tx *Tx) Put(k Key, row Row) {
	if i := tx.find(k); i >= 0 {
		tx.writes[i].Row = row
		return
	}
	tx.add(Write{Key: k, Row: row})
}

// Create is Put where the caller knows that nothing is there: a row that is
// created and deleted in one Tx, or in one batch of them, leaves no trace.
func (tx *Tx) Create(k Key, row Row) {
	if i := tx.find(k); i >= 0 {
		tx.writes[i].Row = row
		return
	}
	tx.add(Write{Key: k, Row: row, Created: true})
}

func (tx *Tx) add(w Write) {
	k := w.Key
	tx.writes = append(tx.writes, w)
	if tx.index != nil {
		tx.index[k] = len(tx.writes) - 1
	} else if len(tx.writes) >= indexFrom {
		tx.index = make(map[Key]int, 4*indexFrom)
		for i := range tx.writes {
			tx.index[tx.writes[i].Key] = i
		}
	}
}

// Delete removes the row at k.
func (tx *Tx) Delete(k Key) { tx.Put(k, nil) }

// Get returns the row at k, or nil. The caller must not change it.
func Get[T any, P wire.Pointer[T]](tx *Tx, k Key) P {
	var row Row
	if i := tx.find(k); i >= 0 {
		row = tx.writes[i].Row
	} else {
		row = tx.src.Get(k, maker[T, P]{})
	}
	return typed[T, P](k, row)
}

// Change returns a copy of the row at k for the caller to change, creating it
// when absent. It is copied once per Tx; slices and maps inside it are shared
// with the older version and must be replaced, not written to.
func Change[T any, P wire.Pointer[T]](tx *Tx, k Key) P {
	if i := tx.find(k); i >= 0 && tx.writes[i].Row != nil {
		return typed[T, P](k, tx.writes[i].Row)
	}
	row := P(new(T))
	if old := Get[T, P](tx, k); old != nil {
		*row = *old
	}
	tx.Put(k, row)
	return row
}

// Scan visits, in key order, the rows from k on as Source.Scan does, with the
// changes of this Tx. The visitor must not change the table it scans.
func Scan[T any, P wire.Pointer[T]](tx *Tx, k Key, visit func(Key, P) bool) {
	own := tx.sorted(k)
	stopped := false
	emit := func(w Write) bool {
		if w.Row != nil && !visit(w.Key, typed[T, P](w.Key, w.Row)) {
			stopped = true
		}
		return !stopped
	}
	tx.src.Scan(k, maker[T, P]{}, func(at Key, row Row) bool {
		for len(own) > 0 && Compare(own[0].Key, at) < 0 {
			if !emit(own[0]) {
				return false
			}
			own = own[1:]
		}
		if len(own) > 0 && own[0].Key == at {
			w := own[0]
			own = own[1:]
			return emit(w)
		}
		return emit(Write{Key: at, Row: row})
	})
	for ; !stopped && len(own) > 0; own = own[1:] {
		emit(own[0])
	}
}

// maker is a Maker without a closure: it costs nothing to hand over.
type maker[T any, P wire.Pointer[T]] struct{}

// Make implements Maker.
func (maker[T, P]) Make() Row { return P(new(T)) }

func typed[T any, P wire.Pointer[T]](k Key, row Row) P {
	if row == nil {
		return nil
	}
	p, ok := row.(P)
	if !ok {
		panic(fmt.Sprintf("row %v is a %T", k, row))
	}
	return p
}
