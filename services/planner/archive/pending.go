package archive

import "github.com/heddle-run/heddle/shared/events"

// Definition is one that has to be written before the runs that use it.
type Definition struct {
	Digest    string
	Canonical []byte
}

// Entry is a record of a run that is not written yet.
type Entry struct {
	Offset   int64 // of the record in the journal
	Position events.Position
	Time     int64
	Data     []byte

	recent *recent
}

// Record is what Data says.
func (e *Entry) Record() (*events.Record, error) {
	if e.recent.rec != nil {
		return e.recent.rec, nil
	}
	return Decode(e.Data)
}

// recent is a record as it was taken, as long as it is one of the last: it shares memory with what was fetched beside it.
type recent struct {
	rec  *events.Record
	size int
}

// How many records, and of how many bytes, are at hand as they were taken: those of runs that close soon.
const (
	mostRecent      = 2048
	mostRecentBytes = 2 << 20
)

// recently has a record at hand, in the place of the oldest ones.
func (k *Keeper) recently(rec *events.Record, size int) *recent {
	r := &recent{rec, size}
	k.recents = append(k.recents, r)
	for k.recentBytes += size; len(k.recents) > mostRecent || k.recentBytes > mostRecentBytes; k.recents = k.recents[1:] {
		k.recents[0].rec = nil
		k.recentBytes -= k.recents[0].size
	}
	return r
}
