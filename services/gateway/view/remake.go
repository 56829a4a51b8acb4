package view

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-run/heddle/internal/store"
)

const (
	// remakePause is how long the view waits before it opens its store anew; it
	// doubles, up to remakeMost, while that does not help for remakeHelped.
	remakePause  = time.Second
	remakeMost   = stuck / 2
	remakeHelped = 5 * time.Minute
)

// ErrRemade is what a list meets whose view is being made again.
var ErrRemade = errors.New("the list of workflows is being made again")

// remake opens the store anew after it broke, from what the disk took of it
// before it was full, or from nothing if it rotted. There is no list until the
// follower has caught up. The follower calls it, again if it failed.
func (v *View) remake(ctx context.Context) {
	if v.db != nil {
		v.dismiss()
	}
	pause(ctx, v.patience())
	if ctx.Err() != nil {
		return
	}
	v.opened = time.Now()
	if err := v.open(ctx); err != nil {
		v.logger.Error("opening the list's view again", "error", err)
	}
}

// dismiss closes a broken store once no list reads it any more.
func (v *View) dismiss() {
	why := v.health.Err()
	v.logger.Error("the list's view is of no use any more and is opened anew", "dir", v.dir, "error", why)
	if !store.IsFull(why) {
		v.spoilt = why
	}
	v.mu.Lock()
	v.away, v.health = true, nil
	v.mu.Unlock()
	if err := v.shut(); err != nil {
		v.logger.Warn("closing a broken view", "error", err)
	}
}

// patience is how long to wait before the next opening.
func (v *View) patience() time.Duration {
	if time.Since(v.opened) > remakeHelped {
		v.wait = remakePause
	}
	now := v.wait
	v.wait = min(2*now, remakeMost)
	return now
}

// settled serves lists again once the view is where the topic ended when it was
// opened, or where a long poll found nothing more: compaction may have removed
// the last records.
func (v *View) settled(idle error) {
	if !v.away {
		return
	}
	for p, end := range v.ends {
		if idle == nil && v.next[p] < end {
			return
		}
	}
	v.logger.Info("the list's view has caught up")
	v.mu.Lock()
	defer v.mu.Unlock()
	v.away = false
}

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
