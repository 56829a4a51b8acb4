package store

// values are the encoded rows of a list of changes, in the order of the list,
// so that a checkpoint need not read them from the store again. They are kept
// while there is room and the process lives; without them the store is read.
type values struct {
	bytes []byte
	ends  []uint32 // in bytes, by turn
}

const (
	// Room for what most workflows change between two checkpoints.
	usualBytes   = 1 << 10
	usualChanges = 32

	// Room that is kept for the next checkpoint.
	mostBytes = 4 << 10
	mostSpare = 1024
)

// some reports whether there are values: then every change has one.
func (v *values) some() bool { return len(v.ends) > 0 }

// add appends the value of the next change; that of a deletion is empty.
func (v *values) add(value []byte) {
	v.bytes = append(v.bytes, value...)
	v.ends = append(v.ends, uint32(len(v.bytes)))
}

// at is the value of a change, never nil; it stays valid.
func (v *values) at(turn int32) []byte {
	var from uint32
	if turn > 0 {
		from = v.ends[turn-1]
	}
	to := v.ends[turn]
	return v.bytes[from:to:to]
}
