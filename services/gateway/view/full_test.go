package view

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A disk that is full where Pebble must write (its MANIFEST) is the end of the
// view, which the gateway is told, not of the process; one that is opened when
// there is room goes on where it left off.
func TestAFullDiskIsTheEndOfTheViewOnly(t *testing.T) {
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, "MANIFEST") {
			return syscall.ENOSPC
		}
		return nil
	}))
	v := openTestViewOn(t, fs, "view")
	takeAll(t, v, statusRecords(t, 1, "1.1"))
	closeTestView(t, v)
	v = openTestViewOn(t, fs, "view")
	takeAll(t, v, statusRecords(t, 2, "1.2"))
	health := v.health
	full.Store(true)
	if err := v.closeStore(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("the view on a full disk ends with %v", err)
	}
	<-health.Gone()
	if err := health.Err(); !strings.Contains(err.Error(), "no space left") {
		t.Errorf("the gateway is told %v", err)
	}
	full.Store(false)
	v = openTestViewOn(t, fs, "view")
	defer closeTestView(t, v)
	if got, err := v.get([]byte("w/w0")); err != nil || !strings.Contains(string(got), `"position":"1.1"`) {
		t.Errorf("of w0 the view has %q, %v", got, err)
	}
	if at, err := v.offset(0); err != nil || at != 1 {
		t.Errorf("the view goes on at %d, %v", at, err)
	}
}

// A view that was opened again, while the brokers do not say where its topic is, is
// closed again: the follower opens it once more before it writes to it.
func TestAViewThatKnowsNoTopicIsOpenedOnceMore(t *testing.T) {
	fs := vfs.NewMem()
	v := newView(fs, "view", slog.New(slog.DiscardHandler))
	away := errors.New("the brokers are away")
	v.begin = func(context.Context) error { return away }
	if err := v.open(t.Context()); !errors.Is(err, away) {
		t.Fatalf("opened without a topic: %v", err)
	}
	if v.db != nil || v.health != nil {
		t.Error("the follower takes a closed store for one that works")
	}
	v.begin = func(context.Context) error { return nil }
	if err := v.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	takeAll(t, v, statusRecords(t, 1, "1.1"))
	closeTestView(t, v)
}
