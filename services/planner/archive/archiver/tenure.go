package archiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
)

const (
	// tick is how long what is due waits for more to come with it.
	tick = 100 * time.Millisecond
	// batch is how many records are taken between two writes, unless they are as large as the Keeper holds before.
	batch = 2000
	// pace is how often records are fetched at most.
	pace = 25 * time.Millisecond
	// placeEvery is how often the place is saved and committed while there is something new.
	placeEvery = time.Second
	// lagEvery is how often it is asked how far the journal reaches.
	lagEvery = 5 * time.Second
	// atOnce is how many runs of a partition are written at a time: a store syncs many of them together. Of large ones it are
	// fewer, as each counts for several.
	atOnce, large = 64, 8
	// largeFrom is how many bytes make a run large.
	largeFrom = 256 << 10
)

// tenure is the archiving of one partition under one epoch.
type tenure struct {
	a         *Archiver
	partition int32
	healthy   func() // called whenever all is written

	epoch  uint64
	claims uint64 // entries of the place's log
	keeper *archive.Keeper

	folding sync.Mutex // held by whoever uses the folder, what it folds, and the folds
	folder  *archive.Folder
	folds   *folds

	saved  archive.Place
	told   bool      // saved is committed: an older tenure may have ended in between
	asked  time.Time // how far the journal reaches
	placed time.Time
}

// run archives until something fails or ctx ends.
func (t *tenure) run(ctx context.Context) error {
	from, err := t.claim(ctx)
	if err != nil {
		return err
	}
	from, place, err := t.resume(ctx, from)
	if err != nil {
		return err
	}
	t.keeper, t.folder, t.saved = archive.NewKeeper(t.a.cfg.Settings, from), archive.NewFolder(t.partition), from
	t.folds = newFolds(mostFolded)
	ctx, stop := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	entries, failed := newAhead(), make(chan error, 1)
	reading.Go(func() {
		_, err := t.a.reader.Read(ctx, journal.Range{Partition: t.partition, From: place, To: journal.Follow, Pace: pace}, func(e journal.Entry) error {
			return entries.put(ctx, e)
		})
		failed <- err
	})
	return t.follow(ctx, entries, failed)
}

// claim takes an epoch that nobody else has, and tells how far the partition is archived. The zero place: not at all.
func (t *tenure) claim(ctx context.Context) (at archive.Place, err error) {
	id := archive.PlaceID(t.a.topic, t.partition)
	for {
		log, err := t.a.store.Load(ctx, id, store.MaxNumber)
		if err != nil {
			return at, fmt.Errorf("asking how far the partition is archived: %w", err)
		}
		t.epoch, t.claims = log.Epoch+1, log.End+1
		err = t.a.store.Append(ctx, id, log.End, t.epoch, [][]byte{[]byte(t.a.cfg.Name)})
		var conflict *store.Conflict
		var fenced *store.Fenced
		if errors.As(err, &conflict) || errors.As(err, &fenced) { // another one claims it, too
			continue
		}
		if err != nil {
			return at, fmt.Errorf("taking an epoch of the archive: %w", err)
		}
		break
	}
	s, ok, err := t.a.store.LoadSnapshot(ctx, id)
	if err == nil && ok {
		err = json.Unmarshal(s.Data, &at)
	}
	if err != nil {
		return at, fmt.Errorf("asking how far the partition is archived: %w", err)
	}
	return at, nil
}

// resume is where reading goes on, and from where on the partition is not archived. What the journal has lost before it was archived
// is said once.
func (t *tenure) resume(ctx context.Context, at archive.Place) (from archive.Place, place journal.Place, err error) {
	bounds, err := t.a.reader.Bounds(ctx, t.partition)
	if err != nil {
		return at, place, err
	}
	if at.Offset > bounds.End || at.Offset < bounds.Start {
		if at, err = t.lost(ctx, at, bounds); err != nil {
			return at, place, err
		}
	}
	switch {
	case !at.First.IsZero():
		place = journal.Before(at.First, at.Offset)
	case !at.After.IsZero():
		place = journal.Place{Offset: at.Offset, Filter: journal.After(at.After)}
	default:
		place, err = t.a.reader.Begin(ctx, t.partition)
	}
	return at, place, err
}

// lost goes on with the journal's first record, as it has not the one any more, or not yet, that would come next.
func (t *tenure) lost(ctx context.Context, at archive.Place, bounds journal.Bounds) (archive.Place, error) {
	from := archive.Place{Offset: bounds.Start, Gap: at.Gap}
	if err := t.storePlace(ctx, from); err != nil {
		return at, err
	}
	if at.Offset > bounds.End {
		t.a.metrics.lost.Add(float64(at.Offset - bounds.End))
		t.a.logger.Error("the journal is shorter than what of it is archived: it has lost records, and is archived from its start on",
			"partition", t.partition, "archived_to_offset", at.Offset, "end_offset", bounds.End)
		return from, nil
	}
	t.a.metrics.lost.Add(float64(bounds.Start - at.Offset))
	t.a.logger.Warn("records are gone from the journal that are not in the archive: runs that began before lack their beginnings there",
		"partition", t.partition, "from_offset", at.Offset, "to_offset", bounds.Start)
	return from, nil
}

// storePlace saves how far the partition is archived.
func (t *tenure) storePlace(ctx context.Context, at archive.Place) error {
	data, err := json.Marshal(at)
	if err != nil {
		return err
	}
	if err := t.a.step("place"); err != nil {
		return err
	}
	if err := t.a.store.SaveSnapshot(ctx, archive.PlaceID(t.a.topic, t.partition), t.epoch, store.Snapshot{At: t.claims, Data: data}); err != nil {
		return fmt.Errorf("saving how far the partition is archived: %w", err)
	}
	return nil
}

// follow takes records and writes what is due.
func (t *tenure) follow(ctx context.Context, entries *ahead, failed <-chan error) error {
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for taken := 0; ; {
		select {
		case e := <-entries.list:
			t.take(entries, e)
			if taken++; taken < batch && !t.keeper.Full() {
				continue
			}
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			for ; len(entries.list) > 0 && taken < batch && !t.keeper.Full(); taken++ { // the same, whichever is chosen
				t.take(entries, <-entries.list)
			}
		}
		taken = 0
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
}

func (t *tenure) take(from *ahead, e journal.Entry) {
	from.took(e)
	t.keeper.Take(e.Mark.Offset, e.Record, e.Value)
}

// flush writes what is due, tells the planners, and then says how far it is.
func (t *tenure) flush(ctx context.Context) error {
	for _, d := range t.keeper.Definitions() {
		if err := t.a.saveDefinition(ctx, d); err != nil {
			return err
		}
	}
	t.a.metrics.pending(t.partition, t.keeper)
	due := t.keeper.Due(time.Now().UnixMilli())
	if err := t.writeAll(ctx, due); err != nil {
		return err
	}
	for _, l := range due {
		t.keeper.Written(l, l.At)
	}
	t.a.metrics.pending(t.partition, t.keeper)
	if err := t.savePlace(ctx); err != nil {
		return err
	}
	t.healthy()
	return t.lag(ctx)
}

// savePlace saves and commits how far everything is written.
func (t *tenure) savePlace(ctx context.Context) error {
	at := t.keeper.Place()
	if at == t.saved && t.told || time.Since(t.placed) < placeEvery {
		return nil
	}
	if err := t.storePlace(ctx, at); err != nil {
		return err
	}
	if err := t.a.step("commit"); err != nil {
		return err
	}
	t.saved, t.placed = at, time.Now()
	if err := t.a.deployment.Commit(ctx, t.partition, at.Offset); err != nil {
		return err
	}
	t.told = true
	return nil
}

// lag measures how far the archive is behind the journal.
func (t *tenure) lag(ctx context.Context) error {
	if time.Since(t.asked) < lagEvery {
		return nil
	}
	t.asked = time.Now()
	bounds, err := t.a.reader.Bounds(ctx, t.partition)
	if err != nil {
		return err
	}
	t.a.metrics.behind(t.partition, bounds.End-t.keeper.Place().Offset)
	return nil
}
