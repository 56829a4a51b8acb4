package broker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Whatever a crash leaves of a partition's two segments, of the index beside the
// second and of the broker's own logs, repair makes it whole: it keeps what was
// whole, ends every transaction, and has nothing to do the second time. No length
// that a file claims makes more room than the file has bytes.
func FuzzRepair(f *testing.F) {
	data, open := framed(0, 7, 0), framed(2, 7, attrTransactional)
	marker := abortMarker(4, 0, 7, 1)
	own := entry(`{"type":"init","pid":7,"epoch":1,"txid":"t"}`)
	f.Add(append(data, open...), marker, make([]byte, indexEntrySize), own)
	f.Add(append(data, open...), []byte(nil), []byte(nil), own[:len(own)-1])
	f.Add(open, marker[:batchHeaderSize], []byte(nil), []byte(nil))
	f.Add([]byte(nil), open[:len(open)-1], []byte{indexVersion}, append(own, 0xff, 0xff, 0xff, 0xff))
	lies := framed(0, 1, 0)
	copy(lies[8:], []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(lies, make([]byte, batchHeaderSize), []byte(nil), lies)
	f.Fuzz(func(t *testing.T, first, second, index, own []byte) {
		checkRoom(t, first)
		dir := quickDir(t)
		partition := filepath.Join(dir, partitionsDir, "t-0")
		if err := os.MkdirAll(partition, 0o755); err != nil {
			t.Fatal(err)
		}
		segments := []string{filepath.Join(partition, "0"+segmentExt), filepath.Join(partition, "4"+segmentExt)}
		before := map[string][]byte{
			segments[0]: sealed(first), segments[1]: sealed(second), filepath.Join(partition, "4"+indexExt): index,
			filepath.Join(dir, producersLog): own, filepath.Join(dir, groupsLog): own,
		}
		for path, b := range before {
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := repair(dir, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		checkWhole(t, segments, before)
		once := contents(t, dir)
		if err := repair(dir, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		for path, b := range contents(t, dir) {
			if !bytes.Equal(b, once[path]) {
				t.Errorf("repaired again, %s changes from %x to %x", path, once[path], b)
			}
		}
	})
}

// quickDir is a directory in memory, where the machine has one: most of the time
// would go into syncing files.
func quickDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "heddle-fuzz-") //nolint:usetesting // not below the tests' directory
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// checkRoom holds that batches make no more room than they have bytes.
func checkRoom(t *testing.T, raw []byte) {
	t.Helper()
	r := bytes.NewReader(raw)
	var buf []byte
	for left := int64(len(raw)); ; {
		b, err := readBatch(r, buf, left)
		if cap(b) > 2*len(raw)+4*batchHeaderSize {
			t.Fatalf("%d bytes make room for %d", len(raw), cap(b))
		}
		if err != nil {
			return
		}
		left -= int64(len(b))
		buf = b
	}
}

// checkWhole holds that the segments of a partition are whole batches, what was
// whole before among them, that no transaction is open, and that each index has
// a whole entry for each batch.
func checkWhole(t *testing.T, segments []string, before map[string][]byte) {
	t.Helper()
	open := map[int64]bool{}
	for _, path := range segments {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scan(path)
		if err != nil || s.whole != s.size || !bytes.HasPrefix(raw, before[path][:whole(before[path])]) {
			t.Errorf("%s: %d bytes of %d are whole, %d were, %v", path, s.whole, s.size, whole(before[path]), err)
		}
		index, err := os.ReadFile(s.indexPath())
		if err != nil || len(index) != len(s.batches)*indexEntrySize {
			t.Fatalf("%s has %d batches, its index %d bytes, %v", path, len(s.batches), len(index), err)
		}
		if !wholeIndex(index) {
			t.Errorf("%s: the index is %x", path, index)
		}
		for _, b := range s.batches {
			if b.transactional {
				open[b.producer] = true
			} else if b.control {
				delete(open, b.producer)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("transactions of %v are open", open)
	}
}

// whole counts the bytes of the whole batches that a segment begins with.
func whole(raw []byte) (n int64) {
	r := bytes.NewReader(raw)
	for {
		b, err := readBatch(r, nil, int64(len(raw))-n)
		if err != nil {
			return n
		}
		n += int64(len(b))
	}
}

// contents are all files of a directory by their paths.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.log"))
	inner, err2 := filepath.Glob(filepath.Join(dir, partitionsDir, "*", "*"))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for _, path := range append(paths, inner...) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = b
	}
	return all
}

// framed is a batch of two records' offsets, with its length and checksum.
func framed(offset, producer int64, attributes int16) []byte {
	b := kmsg.RecordBatch{
		FirstOffset: offset, Magic: 2, Attributes: attributes, LastOffsetDelta: 1,
		ProducerID: producer, ProducerEpoch: 1, NumRecords: 2, Records: []byte("records"),
	}
	b.Length = int32(len(b.AppendTo(nil)) - batchFramed)
	return sealed(b.AppendTo(nil))
}

// sealed has the checksums of batches right where the magic byte is: changed
// headers are not all torn.
func sealed(raw []byte) []byte {
	out := bytes.Clone(raw)
	for rest := out; len(rest) >= batchHeaderSize; {
		size := batchFramed + int64(binary.BigEndian.Uint32(rest[8:]))
		if size < batchHeaderSize || size > int64(len(rest)) {
			break
		}
		if rest[16] == 2 {
			binary.BigEndian.PutUint32(rest[17:], crc32.Checksum(rest[batchSummed:size], castagnoli))
		}
		rest = rest[size:]
	}
	return out
}

// entry is one entry of kfake's own logs.
func entry(body string) []byte {
	b := append([]byte{entryVersion, 0}, body...)
	return fmt.Appendf(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), crc32.Checksum(b, castagnoli)), "%s", b)
}
