// Package view is what the gateway lists workflows from: the newest status of each, with
// indexes, in a store of its own that follows the status topic and can always be made
// again from it.
package view

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/store"
)

// View is what lists are answered from: the newest status of every workflow, in
// a Pebble store of its own, with indexes by time, status and definition. It
// follows the status topic and can always be made again from it: rows and the
// offsets they are as of are written in one batch without a log, so a crash
// loses both together.
type View struct {
	mu     sync.RWMutex // of db, health and away, which the follower changes and lists read
	db     *pebble.DB
	health *store.Health // of db; nil: there is none
	away   bool          // it is being made again: no lists

	dir    string
	fs     vfs.FS // of the store; nil: the operating system's, or memory where no directory is named
	lock   *pebble.Lock
	cl     *kgo.Client
	topic  string
	logger *slog.Logger
	begin  func(context.Context) error // compares the store with the topic

	mostScanned int // rows that one page looks at
	stop        context.CancelFunc
	done        chan struct{}

	// The follower's own:
	next     map[int32]int64 // by partition
	ends     map[int32]int64 // of the topic, as the store was opened
	poll     []*kgo.Record   // room for the records of a poll
	recent   recent
	room     changeRoom
	stranger bool  // the topic is another one of its name
	spoilt   error // why what is on the disk is to be removed
	opened   time.Time
	wait     time.Duration // before the next opening

	turned atomic.Int64 // Unix ms of the follower's last turn
	rows   atomic.Int64 // status records taken since the start
}

func newView(fs vfs.FS, dir string, logger *slog.Logger) *View {
	v := &View{
		fs: fs, dir: dir, logger: logger, done: make(chan struct{}), next: map[int32]int64{}, wait: remakePause,
		mostScanned: MaxScanned,
	}
	v.begin = v.goOn
	return v
}

const (
	// stuck is how long the follower's loop may stand still before the
	// gateway counts as dead.
	stuck = time.Minute
)

// Open opens the view in a directory, or in memory where none is named, and follows the
// status topic until Close.
func Open(ctx context.Context, cfg kafka.Config, dir string, logger *slog.Logger) (*View, error) {
	names, err := cfg.Names()
	if err != nil {
		return nil, err
	}
	v := newView(nil, dir, logger)
	v.topic = names.Status()
	if v.cl, err = kafka.NewPartitionConsumer(cfg); err != nil {
		return nil, err
	}
	if err := v.open(ctx); err != nil {
		v.cl.Close()
		return nil, fmt.Errorf("open the view: %w", err)
	}
	v.turned.Store(time.Now().UnixMilli())
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	v.stop = stop
	go v.follow(following)
	return v, nil
}

// open opens the store and goes to where it left off. A store that turns out to
// be spoilt as it is read is made again.
func (v *View) open(ctx context.Context) error {
	if err := v.openStore(); err != nil {
		return err
	}
	err := v.begin(ctx)
	if err == nil {
		return nil
	}
	if why := v.health.Err(); why != nil && !store.IsFull(why) {
		v.dismiss()
		if err = v.openStore(); err == nil {
			err = v.begin(ctx)
		}
	}
	if err != nil && v.db != nil {
		err = errors.Join(err, v.shut())
		v.mu.Lock()
		v.health = nil // there is nothing that may be written to
		v.mu.Unlock()
	}
	return err
}

// describeTimeout bounds the questions about the topic.
const describeTimeout = 10 * time.Second

// goOn compares the store with the topic and goes to where it left off; a
// store of another topic or form is emptied.
func (v *View) goOn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	details, err := kadm.NewClient(v.cl).ListTopics(ctx, v.topic)
	if err == nil {
		err = details.Error()
	}
	if err != nil {
		return fmt.Errorf("describe %s: %w", v.topic, err)
	}
	topic := details[v.topic]
	source := append(topic.ID[:], format)
	same, err := v.isOf(source)
	if err != nil {
		return err
	}
	if !same {
		v.withhold()
		v.logger.Info("the list's view is made from the whole topic: it is new, or of another topic or form", "dir", v.dir)
		if err := v.reset(source); err != nil {
			return err
		}
	}
	ends, err := kadm.NewClient(v.cl).ListEndOffsets(ctx, v.topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ask for the end of %s: %w", v.topic, err)
	}
	v.leave()
	v.ends = map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) { v.ends[o.Partition] = o.Offset })
	places := map[int32]kgo.Offset{}
	for p := range topic.Partitions {
		if v.next[p], err = v.offset(p); err != nil {
			return err
		}
		places[p] = kgo.NewOffset().At(v.next[p])
		if v.next[p] == 0 {
			places[p] = kgo.NewOffset().AtStart() // compaction may have moved it
		}
	}
	v.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{v.topic: places})
	return nil
}

// withhold answers no lists while a view that was in use is made from another topic.
func (v *View) withhold() {
	if !v.stranger {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.away = true
}

// leave ends the reading of before.
func (v *View) leave() {
	before := slices.Collect(maps.Keys(v.next))
	v.cl.RemoveConsumePartitions(map[string][]int32{v.topic: before})
	clear(v.next)
}

// format is the form of the store's rows; one of another form is made again.
const format = 1

// Keys of the store's own rows.
var (
	topicKey  = []byte("m/topic")
	offsetKey = []byte("m/offset/")
)

func (v *View) isOf(source []byte) (bool, error) {
	have, err := v.get(topicKey)
	return bytes.Equal(have, source), err
}

// reset empties the store and makes it one of the source.
func (v *View) reset(source []byte) error {
	v.recent = recent{}
	if err := v.db.DeleteRange([]byte{0}, []byte{0xff}, pebble.NoSync); err != nil {
		return err
	}
	return v.db.Set(topicKey, source, pebble.NoSync)
}

func (v *View) offset(p int32) (int64, error) {
	b, err := v.get(binary.BigEndian.AppendUint32(append([]byte(nil), offsetKey...), uint32(p)))
	if len(b) != 8 {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(b)), err
}

// get copies a value; nil when there is none.
func (v *View) get(key []byte) ([]byte, error) {
	b, closer, err := v.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the view: %w", err)
	}
	b = append([]byte(nil), b...)
	return b, closer.Close()
}

// Close ends the following, and closes the store.
func (v *View) Close() error {
	v.stop()
	<-v.done
	v.cl.Close()
	return v.closeStore()
}

// Alive reports whether the follower's loop turns.
func (v *View) Alive(context.Context) error {
	if still := time.Since(time.UnixMilli(v.turned.Load())); still > stuck {
		return fmt.Errorf("the view has not moved for %s", still.Round(time.Second))
	}
	return nil
}

// Taken is how many status records have been taken since the start.
func (v *View) Taken() int64 { return v.rows.Load() }
