package broker_test

import (
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
)

// What an owner deletes leaves the disk, whole segments at a time, and the log keeps
// its end.
func TestDeletedRecordsLeaveTheDisk(t *testing.T) {
	dir := t.TempDir()
	c := brokertest.StartDir(t, dir, few)
	topic := c.Topics.Commands()
	const records = 40
	rng := rand.NewChaCha8([32]byte{1}) // nothing that is smaller on the wire
	for range records {
		noise := make([]byte, 1<<19) // the record's key and its value
		if _, err := rng.Read(noise); err != nil {
			t.Fatal(err)
		}
		produce(t, c, topic, string(noise))
	}
	before := bytesOf(t, dir, topic)
	var below kadm.Offsets
	below.Add(kadm.Offset{Topic: topic, Partition: 0, At: records - 1})
	if _, err := kadm.NewClient(c.Admin(t)).DeleteRecords(t.Context(), below); err != nil {
		t.Fatal(err)
	}
	if after := bytesOf(t, dir, topic); before < records<<20 || after > before/2 {
		t.Errorf("the log took %d bytes and takes %d", before, after)
	}
	ends, err := kadm.NewClient(c.Admin(t)).ListEndOffsets(t.Context(), topic)
	if o, _ := ends.Lookup(topic, 0); err != nil || o.Offset != records {
		t.Errorf("the log ends at %d, want %d (%v)", o.Offset, records, err)
	}
}

// bytesOf are the bytes of a topic's files.
func bytesOf(t *testing.T, dir, topic string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(filepath.Base(filepath.Dir(path)), topic+"-") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}
