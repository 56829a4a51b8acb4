package partition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
)

// What a process needs of its own to serve partitions.
const (
	NeedsClock = "clock" // that agrees with the brokers'
	NeedsDisk  = "disk"  // that takes what is written
	NeedsStore = "store" // whose directories no other process has locked
	NeedsRoute = "route" // to the leaders of the journals
)

// Needs are all of them.
var Needs = [...]string{NeedsClock, NeedsDisk, NeedsStore, NeedsRoute}

// UnfitError is why a process cannot serve, for a reason of its own: another one
// may serve what it cannot.
type UnfitError struct {
	Need string // one of Needs
	Err  error
}

func (e *UnfitError) Error() string { return fmt.Sprintf("%s: %v", e.Need, e.Err) }

func (e *UnfitError) Unwrap() error { return e.Err }

// whole reports whether nothing can be served for this reason. A locked store and a
// leader that is not reached concern some partitions only.
func (e *UnfitError) whole() bool { return e.Need == NeedsClock || e.Need == NeedsDisk }

// Fit checks what this process needs of its own. Nil says that nothing is known to
// be missing. What all processes miss, as a journal without a leader, is no reason
// of its own.
func (h *Host) Fit(ctx context.Context) *UnfitError {
	for _, check := range []func(context.Context) *UnfitError{h.diskFits, h.storesFit, h.clockFits, h.routesFit} {
		if unfit := check(ctx); unfit != nil || ctx.Err() != nil {
			return unfit
		}
	}
	return nil
}

func (h *Host) clockFits(ctx context.Context) *UnfitError {
	var wrong *loop.ClockError
	if errors.As(h.clock.agrees(ctx), &wrong) {
		return &UnfitError{NeedsClock, wrong}
	}
	return nil
}

// errHangs is a disk that answers nobody.
var errHangs = fmt.Errorf("the disk has not answered for %s", askTimeout)

// diskTrial is one try of the disk, which may never end.
type diskTrial struct {
	done  chan struct{}
	unfit *UnfitError // valid once done is closed
}

// diskFits waits for a try of the disk. A disk that hangs has one try under way
// only, whose answer counts when it comes.
func (h *Host) diskFits(ctx context.Context) *UnfitError {
	t := h.tryDisk()
	patience := time.NewTimer(askTimeout)
	defer patience.Stop()
	select {
	case <-t.done:
	case <-patience.C:
		return &UnfitError{NeedsDisk, errHangs}
	case <-ctx.Done():
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trial == t {
		h.trial = nil
	}
	return t.unfit
}

func (h *Host) tryDisk() *diskTrial {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trial != nil {
		return h.trial
	}
	t := &diskTrial{done: make(chan struct{})}
	h.trial = t
	var free []int32
	for p := range h.Partitions {
		if !h.claims(p) {
			free = append(free, p)
		}
	}
	go func() {
		defer close(t.done)
		if err := defect.Caught(h.logger, h.Stats, func() error { t.unfit = h.trialOf(free); return nil }); err != nil {
			t.unfit = &UnfitError{NeedsDisk, err}
		}
	}()
	return t
}

// trialOf writes to the disk and looks at the locks of stores that are not in use
// here.
func (h *Host) trialOf(free []int32) *UnfitError {
	if err := store.TryDisk(h.Store(0)); err != nil {
		return &UnfitError{NeedsDisk, err}
	}
	for _, p := range free {
		if err := store.TryLock(h.Store(p)); err != nil {
			return &UnfitError{NeedsStore, fmt.Errorf("partition %d: %w", p, err)}
		}
	}
	return nil
}

// storesFit asks the owners, who hold the locks of their stores.
func (h *Host) storesFit(context.Context) *UnfitError {
	for _, o := range h.Owners() {
		if why := o.cause.Load(); why != nil && errors.Is(*why, store.ErrInUse) {
			return &UnfitError{NeedsStore, fmt.Errorf("partition %d: %w", o.p, *why)}
		}
	}
	return nil
}

// routesFit asks the leaders of the journals something. A partition without a
// leader has none for anybody, and a cluster that does not answer at all is nothing
// that another process would do better with.
func (h *Host) routesFit(ctx context.Context) *UnfitError {
	ctx, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	topic := h.names.Journal()
	meta, err := h.adm.Metadata(ctx, topic)
	if err != nil {
		return nil
	}
	ends, err := h.adm.ListEndOffsets(ctx, topic)
	for p := range h.Partitions {
		at, known := meta.Topics[topic].Partitions[p]
		if !known || at.Err != nil || at.Leader < 0 {
			continue
		}
		if _, answered := ends[topic][p]; !answered {
			return &UnfitError{NeedsRoute, fmt.Errorf("broker %d, which leads %s/%d, does not answer: %w", at.Leader, topic, p, err)}
		}
	}
	return nil
}
