package plannerd_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/shared/events"
)

// unheard are connections on which nothing arrives that is meant for a group's
// coordinator, while it is away.
type unheard struct {
	net.Conn
	away *atomic.Bool
}

// forCoordinator are the requests that only a group's coordinator answers.
var forCoordinator = []int16{
	kmsg.Heartbeat.Int16(), kmsg.ConsumerGroupHeartbeat.Int16(), kmsg.JoinGroup.Int16(), kmsg.SyncGroup.Int16(),
	kmsg.OffsetFetch.Int16(), kmsg.TxnOffsetCommit.Int16(), kmsg.LeaveGroup.Int16(),
}

// Write implements net.Conn: a client writes one request at a time.
func (c unheard) Write(request []byte) (int, error) {
	if len(request) >= 6 && c.away.Load() && slices.Contains(forCoordinator, int16(binary.BigEndian.Uint16(request[4:]))) {
		return len(request), nil
	}
	return c.Conn.Write(request)
}

// A planner whose group has no coordinator for longer than its session lasts keeps
// what it owns: the lease says who owns, and it is the group that needs to be asked
// only by a planner that claims. When the coordinator is back, and does not know the member any
// more, the planner joins again and nothing has changed hands.
func TestAPlannerWithoutACoordinatorKeepsWhatItOwns(t *testing.T) {
	inWorld(t, func(w *world) {
		var away atomic.Bool
		dial := w.cluster.Config.Dialer
		w.cluster.Config.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return unheard{c, &away}, err
		}
		a, stop := w.planner("a")
		before := a.Partitions()
		away.Store(true)
		for i := range 30 {
			w.command(fmt.Sprint("meanwhile", i), "start", echo)
			w.reply(events.ReplyDrained)
			<-time.After(time.Second)
		}
		away.Store(false)
		<-time.After(time.Minute)
		w.command("afterwards", "start", echo)
		w.reply(events.ReplyDrained)
		if now := a.Partitions(); !slices.Equal(now, before) {
			t.Errorf("the partitions are %+v, they were %+v", now, before)
		}
		if n := owned(a); n != 4 {
			t.Errorf("%d partitions are owned", n)
		}
		b, stopB := w.planner("b") // the group works
		w.until(func() bool { return owned(a) == 2 && owned(b) == 2 })
		for _, end := range []func() error{stop, stopB} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
}
