//go:build integration

package integration

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/runtime"
)

// A leader dies with records that it alone had and had acknowledged, and a replica
// that lacks them is elected. A journal that has lost its end blocks its partition,
// with the reason, and nothing is written to it; an input log that has is noticed and
// read on, with nothing lost that was decided; the other partitions go on.
func TestAnUncleanElection(t *testing.T) {
	const ofJournal, ofCommands = 0, 1 // partitions whose logs lose their ends
	d := onThree(t, 1)
	adm := d.admin()
	others := slices.DeleteFunc([]int32{1, 2, 3}, func(id int32) bool { return id == d.coordinator(adm) })
	leader, lagging := others[0], others[1]
	d.unreplicated(adm, d.names.Journal(), ofJournal, leader, lagging)
	d.unreplicated(adm, d.names.Commands(), ofCommands, leader, lagging)
	d.alone(adm, d.names.DLQ(), 0, lagging)
	d.decideIn("before", 0, 1, 2, 3)
	h := d.hear()

	resume := theThree.pause(t, lagging)
	for topic, p := range map[string]int32{d.names.Journal(): ofJournal, d.names.Commands(): ofCommands} {
		d.eventuallyAt(topic, p, "its leader is alone", func(at kadm.PartitionDetail) bool { return slices.Equal(at.ISR, []int32{leader}) })
	}
	for i := range 3 {
		d.decideIn(fmt.Sprintf("alone-%d", i), ofJournal, ofCommands)
	}
	d.positionsCatchUp(adm)
	h.appears("partition 0 of " + d.names.DLQ() + " has no leader")
	h.appears("partition ", " of 3 replicas in sync")
	h.appears(" more partitions of topics are like that")

	stopped := theThree.pause(t, leader)
	resume()
	for topic, p := range map[string]int32{d.names.Journal(): ofJournal, d.names.Commands(): ofCommands} {
		d.eventuallyAt(topic, p, "the other replica leads", func(at kadm.PartitionDetail) bool {
			set := kadm.TopicsSet{}
			set.Add(topic, p)
			_, _ = d.admin().ElectLeaders(d.t.Context(), kadm.ElectLiveReplica, set) // it may have been elected already
			return at.Leader == lagging
		})
	}
	stopped()

	// The owner that finds it says so for as long as its tenure lasts.
	h.appears(fmt.Sprintf("partition %d: input log commands: ", ofCommands))

	// What makes the owner append is taken, and waits. The old leader may yet take the first of
	// it, as it does not know at once that it leads no more: the owner notices at an append behind that.
	behind := func(name string) error {
		return d.api.do(http.MethodPut, "/v1/workflows/"+d.inPartition(name, ofJournal), object{"definition": chain(1, "shop.add"), "input": 1}, nil)
	}
	eventually(t, takeoverLimit, "a workflow that will wait is taken", func() error { return behind("behind") }) // the gateway may meet the old leader, too
	blocked := fmt.Sprintf("partition=%d ", ofJournal)
	tries := 0
	eventually(t, takeoverLimit, "the partition is blocked", func() error {
		if len(d.logged("planner-1", `msg="the partition is blocked"`, blocked)) == 0 {
			tries++
			return fmt.Errorf("it is not, with %d workflows more, of which the last: %v", tries, behind(fmt.Sprintf("behind-%d", tries)))
		}
		return nil
	})
	loss := d.loss(ofJournal)
	d.decideIn("after", 1, 2, 3)
	for i := range 3 {
		d.endsWith(d.inPartition(fmt.Sprintf("alone-%d", i), ofCommands), "2")
		d.wantCompleted(d.inPartition(fmt.Sprintf("alone-%d", i), ofCommands), 1)
	}
	if end := d.endOf(d.names.Journal(), ofJournal); end != loss.From {
		t.Errorf("the blocked journal ended at %d, and ends at %d", loss.From, end)
	}
	// It is told once, and again only where something else kept the partition from its work in between.
	said := d.logged("planner-1", blocked, `msg="the partition `)
	if len(slices.Compact(slices.Clone(said))) != len(said) {
		t.Errorf("the planner has said again what it said last:\n%s", strings.Join(said, "\n"))
	}

	h.appears(fmt.Sprintf("partition %d: blocked: ", ofJournal))

	// An operator goes on without it: the state is that of the last checkpoint. What
	// waited may have been decided in what is lost, and is held.
	d.accept(loss)
	held := d.inPartition("behind", ofJournal)
	eventually(t, takeoverLimit, "what waited is held", func() error {
		var w struct{ Status string }
		if err := d.api.get("/v1/workflows/"+held, &w); err != nil || w.Status != "paused" {
			return fmt.Errorf("it is %q, %v", w.Status, err)
		}
		return nil
	})
	if err := d.api.do(http.MethodPost, "/v1/workflows/"+held+"/resume", object{"by": "ann", "why": "it has not run"}, nil); err != nil {
		t.Fatal(err)
	}
	d.endsWith(held, "2")
	d.decideIn("at-last", 0, 1, 2, 3)
	h.vanishes("blocked: ")
	h.vanishes("has no leader")
	h.vanishes("replicas in sync")
	h.vanishes("more partitions of topics")
	d.operate(ofCommands, "force-release")
	h.vanishes("input log commands: ")
}

// alone lets one broker alone have a partition.
func (d *deployment) alone(adm *kadm.Client, topic string, p, broker int32) {
	d.t.Helper()
	var order kadm.AlterPartitionAssignmentsReq
	order.Assign(topic, p, []int32{broker})
	if _, err := adm.AlterPartitionAssignments(d.t.Context(), order); err != nil {
		d.t.Fatal(err)
	}
	d.eventuallyAt(topic, p, "it has one replica", func(at kadm.PartitionDetail) bool {
		return at.Leader == broker && slices.Equal(at.ISR, []int32{broker}) && len(at.Replicas) == 1
	})
}

// loss is what the reason of a blocked partition says that its log has lost.
func (d *deployment) loss(p int32) (loss partition.LossError) {
	d.t.Helper()
	eventually(d.t, takeoverLimit, "readiness has the command to type", func() error {
		var all runtime.Aggregate
		if err := d.api.get("/v1/readiness", &all); err != nil {
			return err
		}
		for _, of := range all.Partitions {
			for _, reason := range of.Readiness.Reasons {
				if l, ok := partition.LossIn(reason); ok && l.Partition == p {
					loss = l
					return nil
				}
			}
		}
		return fmt.Errorf("it says %+v", all)
	})
	return loss
}

// accept is an operator who goes on without what a log has lost.
func (d *deployment) accept(loss partition.LossError) {
	d.t.Helper()
	body := object{"log": loss.Log, "from": loss.From, "to": loss.To, "by": "ann", "why": "the disk of its leader is gone"}
	if err := d.api.do(http.MethodPost, fmt.Sprintf("/v1/partitions/%d/accept-loss", loss.Partition), body, nil); err != nil {
		d.t.Fatal(err)
	}
}

// decideIn starts a workflow of a name in each of some partitions, and waits until
// they end.
func (d *deployment) decideIn(name string, ps ...int32) {
	d.t.Helper()
	for _, p := range ps {
		d.decidesSoon(d.inPartition(name, p))
		d.endsWith(d.inPartition(name, p), "2")
	}
}

// unreplicated lets a partition have two replicas, of which one may be elected
// whatever it lacks.
func (d *deployment) unreplicated(adm *kadm.Client, topic string, p, leader, lagging int32) {
	d.t.Helper()
	one, yes := "1", "true"
	_, err := adm.AlterTopicConfigs(d.t.Context(), []kadm.AlterConfig{
		{Op: kadm.SetConfig, Name: "min.insync.replicas", Value: &one},
		{Op: kadm.SetConfig, Name: "unclean.leader.election.enable", Value: &yes},
	}, topic)
	if err != nil {
		d.t.Fatal(err)
	}
	var order kadm.AlterPartitionAssignmentsReq
	order.Assign(topic, p, []int32{leader, lagging})
	if _, err := adm.AlterPartitionAssignments(d.t.Context(), order); err != nil {
		d.t.Fatal(err)
	}
	set := kadm.TopicsSet{}
	set.Add(topic, p)
	d.eventuallyAt(topic, p, "it has two replicas and the right leader", func(at kadm.PartitionDetail) bool {
		_, _ = adm.ElectLeaders(d.t.Context(), kadm.ElectPreferredReplica, set) // it may lead already
		return at.Leader == leader && len(at.Replicas) == 2 && len(at.ISR) == 2
	})
}

// eventuallyAt waits until a partition of a topic is as wanted.
func (d *deployment) eventuallyAt(topic string, p int32, what string, ok func(kadm.PartitionDetail) bool) {
	d.t.Helper()
	eventually(d.t, takeoverLimit, fmt.Sprintf("%s/%d: %s", topic, p, what), func() error {
		all, err := d.admin().ListTopics(d.t.Context(), topic) // a new client: kadm answers from a cache
		if err != nil {
			return err
		}
		if at := all[topic].Partitions[p]; !ok(at) {
			return fmt.Errorf("it is %+v", at)
		}
		return nil
	})
}

// endOf is the end of a partition of a topic.
func (d *deployment) endOf(topic string, p int32) int64 {
	d.t.Helper()
	ends, err := d.admin().ListEndOffsets(d.t.Context(), topic)
	if err != nil {
		d.t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, p)
	if end.Err != nil {
		d.t.Fatalf("the end of %s/%d: %v", topic, p, end.Err)
	}
	return end.Offset
}

// logged are the lines of a service's log that have all of some texts, without their times.
func (d *deployment) logged(service string, texts ...string) (found []string) {
	d.t.Helper()
	b, err := os.ReadFile(d.processes[service].log)
	if err != nil {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			_, what, _ := strings.Cut(strings.TrimSpace(line), " ")
			found = append(found, what)
		}
	}
	return found
}
