package plannerd

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// leaveWait bounds a departure from the group: farewell and the group's answer.
const leaveWait = farewell + 5*time.Second

// membership is the planner's in its group: a partition.Group. A client of the
// group joins once, so that each membership has its own.
type membership struct {
	s       *Planner
	client  *kgo.Client // nil: it is no member
	stop    context.CancelFunc
	polling sync.WaitGroup
}

// Join implements partition.Group.
func (m *membership) Join(ctx context.Context) error {
	admin, err := kafka.NewAdmin(m.s.cfg.Kafka)
	if err != nil {
		return err
	}
	features, err := kafka.LoadFeatures(ctx, admin)
	if err == nil {
		err = kafka.MayWrite(ctx, admin)
	}
	admin.Close()
	if err != nil {
		return err
	}
	if m.client, err = kafka.NewPlannerMember(m.s.cfg.Kafka, features.ServerSideGroups, m.s.claims); err != nil {
		return err
	}
	m.s.claims.setMember(m.client)
	ctx, m.stop = context.WithCancel(ctx)
	m.polling.Go(func() { m.poll(ctx, m.client) })
	return nil
}

// poll keeps the membership alive until ctx ends. It consumes nothing: the
// partitions have readers of their own.
func (m *membership) poll(ctx context.Context, client *kgo.Client) {
	for ctx.Err() == nil {
		for _, f := range client.PollFetches(ctx).Errors() {
			if ctx.Err() == nil && !errors.Is(f.Err, context.Canceled) {
				m.s.cfg.Logger.Warn("the planner group", "error", f.Err)
			}
		}
	}
}

// Leave implements partition.Group.
func (m *membership) Leave(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, leaveWait)
	defer stop()
	if m.client != nil { // else it has left before, and met a defect then
		m.end()
		if err := m.client.LeaveGroupContext(ctx); err != nil {
			m.s.cfg.Logger.Warn("leaving the planner group; it will miss this member", "error", err)
		}
		m.s.claims.setMember(nil)
		m.client.Close()
		m.client = nil
	}
	m.s.claims.giveUp(ctx) // what the group did not ask for
}

func (m *membership) end() {
	m.stop()
	m.polling.Wait()
}

// Others implements partition.Group.
func (m *membership) Others(ctx context.Context) (int, error) {
	own := ""
	if m.client != nil {
		own, _ = m.client.GroupMetadata()
	}
	all, err := m.s.cfg.Kafka.PlannerMembers(ctx)
	n := 0
	for _, id := range all {
		if id != own {
			n++
		}
	}
	return n, err
}

// close ends the membership with the process. A killed process does not leave.
func (m *membership) close() {
	if m.client == nil {
		return
	}
	m.end()
	if m.s.cfg.Killed.Now() {
		gone, stop := context.WithCancel(context.Background())
		stop()
		// The error is that nobody waited.
		_ = m.client.LeaveGroupContext(gone)
	}
	m.client.Close()
}
