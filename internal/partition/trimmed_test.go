package partition

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// shrinking is a cluster in which a log is trimmed as soon as somebody has been told
// where it begins, once a partition has been taken over so many times.
type shrinking struct {
	Cluster
	after func(topic string)
}

func (c *shrinking) Admin() (Admin, error) {
	a, err := c.Cluster.Admin()
	return shrinkingAdmin{a, c}, err
}

type shrinkingAdmin struct {
	Admin
	c *shrinking
}

// ListStartOffsets implements Admin.
func (a shrinkingAdmin) ListStartOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	starts, err := a.Admin.ListStartOffsets(ctx, topics...)
	a.c.after(topics[0])
	return starts, err
}

// An owner that takes over looks whether the last input that was read is still in its place. One
// that is trimmed at this moment is in no other: nothing is read again, and nothing lost.
func TestALogThatIsTrimmedDuringATakeoverIsTheSame(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		a := r.start("a", p)
		r.adder()
		r.counted("w", 3)
		r.settled("w")
		a.leave()
		commands := r.names.Commands()
		end := r.end(commands, p)
		r.over = func(all Cluster) Cluster {
			return &shrinking{all, func(topic string) {
				if topic == commands && r.has(p, "AuthorityAcquired") == 2 {
					r.purge(commands, p, end)
				}
			}}
		}
		b := r.start("b", p)
		defer b.leave()
		b.await(Owning)
		r.do("w", "input", `{"input": 7}`)
		if n := r.has(p, "InputLogTruncated") + r.has(p, "InputLost"); n != 0 {
			t.Errorf("%d records say that inputs were lost or are others", n)
		}
	})
}
