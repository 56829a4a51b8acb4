package broker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"
)

// A segment is record batches as they are on the wire, one after the other.
const (
	batchHeaderSize = 61
	batchFramed     = 12 // bytes before what the length counts
	batchSummed     = 21 // bytes before what the checksum covers

	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is what the header of a record batch says.
type batch struct {
	next          int64 // the offset after it
	epoch         int32 // of the partition's leader
	maxTimestamp  int64
	producer      int64
	producerEpoch int16
	transactional bool // data of a transaction
	control       bool // the end of a producer's transaction
}

// segment is a scanned segment file.
type segment struct {
	path    string
	batches []batch
	whole   int64 // bytes of complete batches
	size    int64 // bytes of the file; more than whole when its tail is torn
}

// scan reads a segment up to its first batch that is incomplete or damaged, as
// kfake does.
func scan(path string) (segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return segment{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return segment{}, err
	}
	s := segment{path: path, size: info.Size()}
	r := bufio.NewReaderSize(f, int(min(s.size, 1<<20)))
	var buf []byte
	for {
		buf, err = readBatch(r, buf, s.size-s.whole)
		if errors.Is(err, errTorn) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		s.batches = append(s.batches, batchOf(buf))
		s.whole += int64(len(buf))
	}
}

var errTorn = errors.New("no further whole batch")

// readBatch reads one batch into buf, which it may replace.
func readBatch(r io.Reader, buf []byte, left int64) ([]byte, error) {
	if left < batchHeaderSize {
		return buf, errTorn
	}
	buf = append(buf[:0], make([]byte, batchHeaderSize)...)
	if _, err := io.ReadFull(r, buf); err != nil {
		return buf, err
	}
	size := batchFramed + int64(binary.BigEndian.Uint32(buf[8:12]))
	if size < batchHeaderSize || size > left {
		return buf, errTorn
	}
	buf = append(buf, make([]byte, size-batchHeaderSize)...)
	if _, err := io.ReadFull(r, buf[batchHeaderSize:]); err != nil {
		return buf, err
	}
	if crc32.Checksum(buf[batchSummed:], castagnoli) != binary.BigEndian.Uint32(buf[17:21]) {
		return buf, errTorn
	}
	return buf, nil
}

func batchOf(b []byte) batch {
	attrs := binary.BigEndian.Uint16(b[21:23])
	control := attrs&attrControl != 0
	return batch{
		next:          int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[23:27])) + 1,
		epoch:         int32(binary.BigEndian.Uint32(b[12:16])),
		maxTimestamp:  int64(binary.BigEndian.Uint64(b[35:43])),
		producer:      int64(binary.BigEndian.Uint64(b[43:51])),
		producerEpoch: int16(binary.BigEndian.Uint16(b[51:53])),
		transactional: attrs&attrTransactional != 0 && !control,
		control:       control,
	}
}

// The index beside a segment has an entry per batch:
// [version][checksum][epoch][largest earlier timestamp][flags]. kfake computes
// the timestamp anew when it loads.
const (
	indexEntrySize = 15
	indexVersion   = 1
)

func (s *segment) indexPath() string { return strings.TrimSuffix(s.path, segmentExt) + indexExt }

func (s *segment) index() []byte {
	index := make([]byte, 0, len(s.batches)*indexEntrySize)
	for _, b := range s.batches {
		entry := make([]byte, indexEntrySize)
		entry[0] = indexVersion
		binary.LittleEndian.PutUint32(entry[2:6], uint32(b.epoch))
		binary.LittleEndian.PutUint64(entry[6:14], uint64(b.maxTimestamp))
		if b.transactional {
			entry[14] = 1
		}
		entry[1] = indexSum(entry)
		index = append(index, entry...)
	}
	return index
}

// indexSum is the checksum of an entry.
func indexSum(entry []byte) byte { return byte(crc32.Checksum(entry[2:], castagnoli)) }

// wholeIndex reports whether no entry of an index is damaged.
func wholeIndex(index []byte) bool {
	for entry := range slices.Chunk(index, indexEntrySize) {
		if len(entry) < indexEntrySize || entry[0] != indexVersion || entry[1] != indexSum(entry) {
			return false
		}
	}
	return true
}
