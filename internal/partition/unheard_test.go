package partition

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// stubborn is a disk that does not make the file of a tenure, some times.
type stubborn struct {
	vfs.FS
	fails atomic.Int32
}

func (d *stubborn) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".deciding.new") && d.fails.Add(-1) >= 0 {
		return nil, errors.New("the disk is full")
	}
	return d.FS.Create(name, category)
}

// An owner that finds the inbox made anew journals that, and may end before it has
// published what workers may have reported in vain. Its successors do that.
func TestWhatWorkersSaidInALostInboxIsPublishedAgainByTheNextOwner(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		r.settings = loop.Settings{Silence: time.Hour, Pending: time.Hour}
		disk := &stubborn{FS: r.fs}
		r.fs = disk
		seen := r.watchTasks()
		a := r.start("a", 0)
		r.counted("w", 1)
		<-time.After(time.Second)
		task := seen.tasks()[0]
		notified := events.EncodeInbox(&events.TaskNotified{Token: task.Token})
		r.must(r.producer.ProduceSync(context.Background(), kafka.Keyed(r.names.Inbox(), []byte("w"), notified)).FirstErr())
		<-time.After(time.Second)
		a.leave()

		r.remake(r.names.Inbox()) // with the outcome
		disk.fails.Store(2)
		b := r.start("a", 0)
		defer b.leave()
		b.await(Owning)
		if disk.fails.Load() >= 0 {
			t.Fatal("no tenure has ended before it served")
		}
		<-time.After(5 * time.Second)
		if n := len(seen.tasks()); n < 2 {
			t.Fatalf("the task was published %d times: its outcome is waited for in vain", n)
		}
		r.outcome("w", task)
		if sum := r.settled("w"); sum != 7 {
			t.Errorf("the sum is %d", sum)
		}
	})
}
