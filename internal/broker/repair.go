package broker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"strings"
)

// A batch and its index entry are two writes. A process killed between them
// leaves an index that is one entry short, and kfake then reads every later
// entry for the batch before: the flag "in a transaction" moves to a neighbour,
// and records of a transaction that was open at the crash count as committed.
// The flag and the epoch also stand in the batch's own header, so the index can
// be made again from the segment.

const (
	indexEntrySize = 15
	indexVersion   = 1

	batchHeaderSize = 61
	batchFramed     = 12 // bytes before what the length counts

	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// repairIndexes remakes the index of every segment that it does not fit. Only
// the segment being written can be affected, but which one that was is not
// known for sure after a crash; sealed ones are cheap to check.
func repairIndexes(dir string, log *slog.Logger) error {
	return eachPartition(dir, func(_ string, segments []string) error {
		for _, s := range segments {
			if err := repairIndex(s, log); err != nil {
				return err
			}
		}
		return nil
	})
}

func repairIndex(segment string, log *slog.Logger) error {
	index, err := indexOf(segment)
	if err != nil {
		return err
	}
	path := strings.TrimSuffix(segment, segmentExt) + indexExt
	have, err := os.Stat(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err == nil && have.Size() == int64(len(index)) {
		return nil
	}
	log.Warn("broker: remaking the index of a segment after a crash", "segment", segment)
	return writeSynced(path, index)
}

// indexOf is the index that fits a segment, up to its first incomplete batch.
func indexOf(segment string) ([]byte, error) {
	f, err := os.Open(segment)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var index []byte
	r := bufio.NewReaderSize(f, 1<<16)
	var header [batchHeaderSize]byte
	for left := info.Size(); left >= batchHeaderSize; {
		if _, err := io.ReadFull(r, header[:]); err != nil {
			return nil, err
		}
		size := batchFramed + int64(binary.BigEndian.Uint32(header[8:12]))
		if size < batchHeaderSize || size > left {
			break // torn: kfake cuts it off
		}
		if _, err := io.CopyN(io.Discard, r, size-batchHeaderSize); err != nil {
			return nil, err
		}
		index = append(index, indexEntry(header[:])...)
		left -= size
	}
	return index, nil
}

// indexEntry is [version][checksum][epoch][largest earlier timestamp][flags];
// kfake computes the timestamp anew when it loads.
func indexEntry(header []byte) []byte {
	entry := make([]byte, indexEntrySize)
	entry[0] = indexVersion
	binary.LittleEndian.PutUint32(entry[2:6], binary.BigEndian.Uint32(header[12:16]))
	binary.LittleEndian.PutUint64(entry[6:14], binary.BigEndian.Uint64(header[35:43]))
	attrs := binary.BigEndian.Uint16(header[21:23])
	if attrs&attrTransactional != 0 && attrs&attrControl == 0 {
		entry[14] = 1
	}
	entry[1] = byte(crc32.Checksum(entry[2:], castagnoli))
	return entry
}

func writeSynced(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
