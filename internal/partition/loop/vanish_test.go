package loop

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A record that was written anew where one was lost is another one, though its bytes are
// the same: by the epoch of the leader that took it, and for commands by its stamp.
func TestARecordThatWasWrittenAnewIsAnother(t *testing.T) {
	at := time.UnixMilli(5000)
	read := &kgo.Record{Key: []byte("w"), Value: []byte("x"), Timestamp: at, Offset: 4, LeaderEpoch: 2}
	m := ReadRecord{read.Offset, read.LeaderEpoch, DigestOf(read)}
	unknown := ReadRecord{read.Offset, 0, DigestOf(read)}
	for name, c := range map[string]struct {
		rec kgo.Record
		was ReadRecord
		is  bool
	}{
		"the same":                      {*read, m, true},
		"of a leader without epochs":    {kgo.Record{Key: read.Key, Value: read.Value, Timestamp: at, LeaderEpoch: -1}, unknown, true},
		"other bytes":                   {kgo.Record{Key: read.Key, Value: []byte("y"), Timestamp: at, LeaderEpoch: 2}, m, false},
		"written after an election":     {kgo.Record{Key: read.Key, Value: read.Value, Timestamp: at, LeaderEpoch: 3}, m, false},
		"younger than all that is read": {kgo.Record{Key: read.Key, Value: read.Value, Timestamp: at.Add(time.Second), LeaderEpoch: 2}, m, false},
	} {
		if is := c.was.IsOf(&c.rec, 5000); is != c.is {
			t.Errorf("%s: %v", name, is)
		}
	}
	later := *read
	later.Timestamp = at.Add(time.Hour)
	if !m.IsOf(&later, 0) {
		t.Error("a log whose stamps are not read is held against one")
	}
}
