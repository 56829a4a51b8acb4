package broker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What kfake leaves wrong after a kill, and repair fixes before it loads:
//
//   - A batch and its index entry are two writes. Killed between them, the
//     index is one entry short, every later entry counts for the batch before,
//     and records of an open transaction count as committed.
//   - A transaction that was open is taken for aborted, but no marker says so
//     in the log. Clients then go on dropping whatever the same producer
//     commits later, and after the next kill that commit covers the dead
//     records too.
//   - Entries after a torn one in its own logs are never read again.
//   - A damaged entry of an index counts as one outside of transactions.

// repair makes a directory that was not closed in order fit to load.
func repair(dir string, log *slog.Logger) error {
	for _, name := range []string{producersLog, groupsLog} {
		if err := cutTail(filepath.Join(dir, name), log); err != nil {
			return err
		}
	}
	dead := map[int64]int16{}
	err := eachPartition(dir, func(partition string, segments []string) error {
		open, err := repairPartition(segments, log)
		if err != nil {
			return fmt.Errorf("repair %s: %w", filepath.Base(partition), err)
		}
		maps.Copy(dead, open)
		return nil
	})
	if err != nil {
		return err
	}
	return raiseEpochs(filepath.Join(dir, producersLog), dead)
}

// repairPartition cuts the torn tail, ends open transactions with a marker,
// and remakes indexes. It returns the producers, and their epochs, whose
// transactions it ended.
func repairPartition(paths []string, log *slog.Logger) (map[int64]int16, error) {
	open := map[int64]int16{}
	var last batch // of all segments so far: the newest may have none yet
	for i, path := range paths {
		s, err := scan(path)
		if err != nil {
			return nil, err
		}
		for _, b := range s.batches {
			last = b
			if b.transactional {
				open[b.producer] = b.producerEpoch
			} else if b.control {
				delete(open, b.producer)
			}
		}
		if s.whole < s.size {
			log.Warn("broker: cutting off a torn tail", "segment", path, "bytes", s.size-s.whole)
			if err := os.Truncate(path, s.whole); err != nil {
				return nil, err
			}
		}
		if i == len(paths)-1 && len(open) > 0 {
			if err := s.abort(open, last, log); err != nil {
				return nil, err
			}
		}
		if err := s.fitIndex(log); err != nil {
			return nil, err
		}
	}
	return open, nil
}

// abort appends a marker for each open transaction. last is the batch before them.
func (s *segment) abort(open map[int64]int16, last batch, log *slog.Logger) error {
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, producer := range slices.Sorted(maps.Keys(open)) {
		log.Warn("broker: aborting a transaction that a crash left open", "segment", s.path, "producer", producer)
		marker := abortMarker(max(last.next, baseOf(s.path)), last.epoch, producer, open[producer])
		if _, err := f.Write(marker); err != nil {
			return errors.Join(err, f.Close())
		}
		last = batchOf(marker)
		s.batches = append(s.batches, last)
	}
	return errors.Join(f.Sync(), f.Close())
}

// abortMarker is the control batch with which a broker ends a transaction.
func abortMarker(offset int64, leaderEpoch int32, producer int64, epoch int16) []byte {
	key := kmsg.ControlRecordKey{Type: kmsg.ControlRecordKeyTypeAbort}
	rec := kmsg.Record{Key: key.AppendTo(nil), Value: (&kmsg.EndTxnMarker{}).AppendTo(nil)}
	rec.Length = int32(len(rec.AppendTo(nil)) - 1) // its own varint is one byte
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{
		FirstOffset: offset, PartitionLeaderEpoch: leaderEpoch, Magic: 2,
		Attributes:     attrControl | attrTransactional,
		FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: producer, ProducerEpoch: epoch, FirstSequence: -1,
		NumRecords: 1, Records: rec.AppendTo(nil),
	}
	b.Length = int32(len(b.AppendTo(nil)) - batchFramed)
	b.CRC = int32(crc32.Checksum(b.AppendTo(nil)[batchSummed:], castagnoli))
	return b.AppendTo(nil)
}

func (s *segment) fitIndex(log *slog.Logger) error {
	have, err := os.ReadFile(s.indexPath())
	if err == nil && len(have) == len(s.batches)*indexEntrySize && wholeIndex(have) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	log.Debug("broker: remaking an index", "segment", s.path)
	f, err := os.Create(s.indexPath())
	if err != nil {
		return err
	}
	_, err = f.Write(s.index())
	return errors.Join(err, f.Sync(), f.Close())
}

// kfake's own logs: entries of [length][checksum][version][JSON], little endian.
const (
	producersLog = "pids.log"
	groupsLog    = "groups.log"

	entryHeaderSize = 10
	entryVersion    = 1
)

// cutTail ends a log after its last whole entry.
func cutTail(path string, log *slog.Logger) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	whole := 0
	for whole+entryHeaderSize <= len(raw) {
		length := int(binary.LittleEndian.Uint32(raw[whole:]))
		end := whole + 8 + length
		if length < 2 || end > len(raw) || crc32.Checksum(raw[whole+8:end], castagnoli) != binary.LittleEndian.Uint32(raw[whole+4:]) {
			break
		}
		whole = end
	}
	if whole == len(raw) {
		return nil
	}
	log.Warn("broker: cutting off a torn tail", "log", path, "bytes", len(raw)-whole)
	return os.Truncate(path, int64(whole))
}

// raiseEpochs fences the producers whose transactions were ended, as a broker
// does that ends a transaction by itself.
func raiseEpochs(path string, producers map[int64]int16) error {
	var out []byte
	for _, producer := range slices.Sorted(maps.Keys(producers)) {
		entry, err := json.Marshal(map[string]any{"type": "timeout", "pid": producer, "epoch": producers[producer] + 1})
		if err != nil {
			return err
		}
		body := append(binary.LittleEndian.AppendUint16(nil, entryVersion), entry...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
		out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(body, castagnoli))
		out = append(out, body...)
	}
	if len(out) == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(out)
	return errors.Join(err, f.Sync(), f.Close())
}
