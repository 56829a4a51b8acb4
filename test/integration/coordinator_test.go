//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// away is how long the coordinator does not answer: longer than a member's session.
const away = 9 * time.Second

// The broker that coordinates all groups stops for longer than a session lasts. The
// partitions are served meanwhile by those who own them, nothing is lost or decided
// twice, and the positions catch up when the coordinator is back.
func TestAGroupWithoutItsCoordinator(t *testing.T) {
	d := onThree(t, 2)
	adm := d.admin()
	coordinator := d.coordinator(adm)
	d.liveElsewhere(adm, coordinator)
	for p := range int32(partitions) {
		d.api.startAndWait(d.inPartition("before", p), chain(2, "shop.add"), 1)
	}
	d.positionsCatchUp(adm) // all have met their new leaders
	owners := d.partitionOwners("before")
	d.positionsRest(adm)

	resume := theThree.pause(t, coordinator)
	began := time.Now()
	rounds, longest := 0, time.Duration(0)
	for ; time.Since(began) < away; rounds++ {
		for p := range int32(partitions) {
			asked := time.Now()
			d.decidesSoon(d.inPartition(fmt.Sprintf("away-%d", rounds), p))
			longest = max(longest, time.Since(asked))
		}
	}
	if now := d.partitionOwners("before"); !maps.Equal(now, owners) {
		t.Errorf("without the coordinator the owners have become %v, they were %v", now, owners)
	}
	resume()

	back := time.Now()
	for p := range int32(partitions) {
		d.decidesSoon(d.inPartition("back", p))
		t.Logf("COORDINATOR BACK: partition %d decided %s later", p, time.Since(back).Round(time.Millisecond))
	}
	ids := []string{"back"}
	for i := range rounds {
		ids = append(ids, fmt.Sprintf("away-%d", i))
	}
	for _, id := range ids {
		for p := range int32(partitions) {
			d.endsWith(d.inPartition(id, p), "2")
			d.wantCompleted(d.inPartition(id, p), 1)
		}
	}
	t.Logf("NO COORDINATOR: for %s %d workflows were started, each decided within %s; %d steps were executed %d times; owners before %v, now %v",
		away, rounds*partitions, longest.Round(time.Millisecond), (2+len(ids))*partitions, len(d.shop.seen("shop.add")), owners, d.partitionOwners("before"))
	d.positionsCatchUp(adm)
}

// decidesSoon tries until a planner has decided a workflow's start.
func (d *deployment) decidesSoon(id string) {
	d.t.Helper()
	eventually(d.t, takeoverLimit, id+" is decided", func() error { return d.decides(id) })
}

// inPartition is a workflow ID that begins with a name and belongs to a partition.
func (d *deployment) inPartition(name string, p int32) string {
	for i := 0; ; i++ {
		if id := fmt.Sprintf("%s-%d", name, i); kafka.PartitionFor([]byte(id), partitions) == p {
			return id
		}
	}
}

// partitionOwners are the owners of all partitions, each with its epoch, as the
// workflows of a name see them.
func (d *deployment) partitionOwners(name string) map[int32]string {
	d.t.Helper()
	found := map[int32]string{}
	for p := range int32(partitions) {
		eventually(d.t, takeoverLimit, "a workflow is read", func() error {
			var w workflow
			err := d.api.do(http.MethodGet, "/v1/workflows/"+d.inPartition(name, p), nil, &w)
			found[p] = fmt.Sprintf("%s at epoch %d", w.Owner.Instance, w.Owner.Epoch)
			return err
		})
	}
	return found
}

// coordinator is the broker that coordinates the planners' group, and all others.
func (d *deployment) coordinator(adm *kadm.Client) int32 {
	d.t.Helper()
	var at int32
	eventually(d.t, takeoverLimit, "the group has a coordinator", func() error {
		found := adm.FindGroupCoordinators(d.t.Context(), d.names.PlannerGroup())[d.names.PlannerGroup()]
		at = found.NodeID
		return found.Err
	})
	return at
}

// liveElsewhere takes from a broker what others have as well, so that nothing but the
// group waits for it. What Kafka itself keeps comes back when the test ends.
func (d *deployment) liveElsewhere(adm *kadm.Client, broker int32) {
	d.t.Helper()
	var back kadm.AlterPartitionAssignmentsReq
	d.t.Cleanup(func() {
		if _, err := adm.AlterPartitionAssignments(context.WithoutCancel(d.t.Context()), back); err != nil {
			d.t.Errorf("giving broker %d its replicas back: %v", broker, err)
		}
	})
	asked := map[string]bool{}
	eventually(d.t, readyLimit, "the broker has nothing that others have", func() error {
		return d.moveFrom(adm, broker, func(topic *kmsg.MetadataResponseTopic, p *kmsg.MetadataResponseTopicPartition) {
			if at := fmt.Sprintf("%s/%d", *topic.Topic, p.Partition); topic.IsInternal && !asked[at] {
				asked[at] = true
				back.Assign(*topic.Topic, p.Partition, p.Replicas)
			}
		})
	})
}

// moveFrom asks for what a broker has and others have as well to be theirs alone. It is
// an error as long as one of these knows of such, or of a follower that the broker still
// is: what it leads waits for all of them. A move that is asked for may be refused, so
// that it is asked for again.
func (d *deployment) moveFrom(adm *kadm.Client, broker int32, had func(*kmsg.MetadataResponseTopic, *kmsg.MetadataResponseTopicPartition)) error {
	var all []kmsg.MetadataResponseTopic
	for id := int32(1); id <= 3; id++ {
		if id == broker {
			continue
		}
		known, err := d.replicas(id)
		if err != nil {
			return err
		}
		all = append(all, known...)
	}
	var there kadm.AlterPartitionAssignmentsReq
	var left []string
	for _, topic := range all {
		for _, p := range topic.Partitions {
			if !replicatedOn(p, broker) {
				continue
			}
			left = append(left, fmt.Sprintf("%s/%d", *topic.Topic, p.Partition))
			if elsewhere := slices.DeleteFunc(slices.Clone(p.Replicas), func(id int32) bool { return id == broker }); len(elsewhere) < len(p.Replicas) {
				there.Assign(*topic.Topic, p.Partition, elsewhere)
				had(&topic, &p)
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	answer, err := adm.AlterPartitionAssignments(d.t.Context(), there)
	if err == nil {
		err = answer.Error()
	}
	return errors.Join(fmt.Errorf("broker %d has %s", broker, strings.Join(left, ", ")), err)
}

func replicatedOn(p kmsg.MetadataResponseTopicPartition, broker int32) bool {
	return len(p.Replicas) > 1 && (p.Leader == broker || slices.Contains(p.Replicas, broker) || slices.Contains(p.ISR, broker))
}

// replicas are where the partitions of the deployment's topics are, and those of the
// log of transactions, as a broker knows them.
func (d *deployment) replicas(broker int32) ([]kmsg.MetadataResponseTopic, error) {
	set, err := topics.Default().Set(topics.Options{Prefix: d.prefix, Partitions: partitions, Queues: []string{"shop"}})
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrMetadataRequest()
	for _, t := range append(set.Desired(), topics.Topic{Name: "__transaction_state"}) {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &t.Name
		req.Topics = append(req.Topics, topic)
	}
	answer, err := req.RequestWith(d.t.Context(), d.client().Broker(int(broker)))
	if err != nil {
		return nil, err
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			err = errors.Join(err, kerr.ErrorForCode(p.ErrorCode))
		}
		if err = errors.Join(err, kerr.ErrorForCode(t.ErrorCode)); err != nil {
			return nil, fmt.Errorf("broker %d on %s: %w", broker, *t.Topic, err)
		}
	}
	return answer.Topics, nil
}

// pause stops a node as a machine that stalls does: its connections stay.
func (c *three) pause(t *testing.T, node int32) (resume func()) {
	t.Helper()
	docker, err := testcontainers.NewDockerClientWithOpts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := c.nodes[node-1]
	if _, err := docker.ContainerPause(t.Context(), id, client.ContainerPauseOptions{}); err != nil {
		t.Fatal(err)
	}
	paused := true
	resume = func() {
		if !paused {
			return
		}
		paused = false
		if _, err := docker.ContainerUnpause(context.WithoutCancel(t.Context()), id, client.ContainerUnpauseOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(resume)
	return resume
}

// positionsRest waits until the planners' group has committed nothing new for two
// checkpoint intervals. A transaction with positions that the coordinator's broker does
// not know of when it stops ends only when it is back, and so does its owner's next.
func (d *deployment) positionsRest(adm *kadm.Client) {
	d.t.Helper()
	var last string
	var since time.Time
	eventually(d.t, takeoverLimit, "the committed positions rest", func() error {
		committed, err := adm.FetchOffsets(d.t.Context(), d.names.PlannerGroup())
		if err != nil {
			return err
		}
		var now []string
		for _, o := range committed.Sorted() {
			now = append(now, fmt.Sprintf("%s/%d@%d", o.Topic, o.Partition, o.At))
		}
		if at := fmt.Sprint(now); at != last {
			last, since = at, time.Now()
		}
		if time.Since(since) < 2*time.Second {
			return errors.New("they are new")
		}
		return nil
	})
}

// positionsCatchUp waits until the planners' group has committed the ends of commands.
func (d *deployment) positionsCatchUp(adm *kadm.Client) {
	d.t.Helper()
	eventually(d.t, takeoverLimit, "the committed positions catch up", func() error {
		committed, err := adm.FetchOffsets(d.t.Context(), d.names.PlannerGroup())
		if err != nil {
			return err
		}
		ends, err := adm.ListEndOffsets(d.t.Context(), d.names.Commands())
		if err != nil {
			return err
		}
		for p := range int32(partitions) {
			at, _ := committed.Lookup(d.names.Commands(), p)
			if end, _ := ends.Lookup(d.names.Commands(), p); at.At < end.Offset {
				return fmt.Errorf("partition %d of commands is committed up to %d, and ends at %d", p, at.At, end.Offset)
			}
		}
		return nil
	})
}
