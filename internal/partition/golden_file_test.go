package partition_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// golden is a recorded journal with the states that it folds to. A file holds it
// as lines of JSON, compressed: the owner, the records, the states.
type golden struct {
	name    string
	version int // of the events
	owner   goldenOwner
	records []goldenRecord
	states  []goldenState
}

// goldenOwner is what of its owner the state depends on, beside the journal.
type goldenOwner struct {
	Key        []byte // seals tokens
	Partition  int32
	Partitions int32
	Records    int
	States     int
}

// goldenRecord is a record as it lies in Kafka.
type goldenRecord struct {
	Key     []byte
	Headers []kgo.RecordHeader
	Time    int64 // Unix ms
	Value   []byte
}

// goldenState is what is there behind so many of the records.
type goldenState struct {
	Behind int
	Rows   []goldenRow // in the order of their keys
}

type goldenRow struct {
	What  string // the key, for people
	Key   []byte
	Value []byte
}

func newGoldenRecord(k *kgo.Record) goldenRecord {
	return goldenRecord{k.Key, k.Headers, k.Timestamp.UnixMilli(), k.Value}
}

// at is the record for its place in a journal.
func (r *goldenRecord) at(names topics.Names, partition int32) *kgo.Record {
	return &kgo.Record{
		Topic: names.Journal(), Partition: partition, Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: time.UnixMilli(r.Time),
	}
}

func newGoldenState(behind int, all workload.Content) (goldenState, error) {
	s := goldenState{Behind: behind}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		key, err := rows.ParseKey([]byte(k))
		if err != nil {
			return s, err
		}
		s.Rows = append(s.Rows, goldenRow{fmt.Sprintf("%+v", key), []byte(k), all[k]})
	}
	return s, nil
}

func (s *goldenState) content() workload.Content {
	all := workload.Content{}
	for _, r := range s.Rows {
		all[string(r.Key)] = r.Value
	}
	return all
}

// goldenDir is where the journals of a version of the events are.
func goldenDir(version int) string {
	return filepath.Join("testdata", "journals", fmt.Sprintf("v%d", version))
}

var errGoldenThere = errors.New("these golden journals are written already, and journals like them may lie in somebody's Kafka for ever: see the README beside them")

// writeGolden writes the journals of a version, all or none; never over others.
func writeGolden(dir string, all []*golden) error {
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s: %w", dir, errGoldenThere)
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.MkdirAll(part, 0o755); err != nil {
		return err
	}
	for _, g := range all {
		if err := g.write(filepath.Join(part, g.name+goldenSuffix)); err != nil {
			return err
		}
	}
	return os.Rename(part, dir)
}

const goldenSuffix = ".json.gz"

func (g *golden) write(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	lines := json.NewEncoder(z)
	g.owner.Records, g.owner.States = len(g.records), len(g.states)
	err = lines.Encode(g.owner)
	for i := range g.records {
		err = errors.Join(err, lines.Encode(g.records[i]))
	}
	for i := range g.states {
		err = errors.Join(err, lines.Encode(g.states[i]))
	}
	return errors.Join(err, z.Close(), f.Close())
}

// readGolden reads the journals of a version, in the order of their names.
func readGolden(version int) ([]*golden, error) {
	files, err := filepath.Glob(filepath.Join(goldenDir(version), "*"+goldenSuffix))
	if err != nil {
		return nil, err
	}
	var all []*golden
	for _, path := range files {
		g, err := readGoldenFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		g.version = version
		all = append(all, g)
	}
	return all, nil
}

func readGoldenFile(path string) (*golden, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(path)
	g := &golden{name: name[:len(name)-len(goldenSuffix)]}
	lines := json.NewDecoder(z)
	if err := lines.Decode(&g.owner); err != nil {
		return nil, err
	}
	g.records, g.states = make([]goldenRecord, g.owner.Records), make([]goldenState, g.owner.States)
	for i := range g.records {
		err = errors.Join(err, lines.Decode(&g.records[i]))
	}
	for i := range g.states {
		err = errors.Join(err, lines.Decode(&g.states[i]))
	}
	if err == nil && lines.More() {
		err = errors.New("there is more behind its last state")
	}
	if _, rest := io.Copy(io.Discard, z); err == nil { // the checksum stands at the end
		err = rest
	}
	return g, err
}

func (g *golden) key() events.Key { return events.Key(g.owner.Key) }
