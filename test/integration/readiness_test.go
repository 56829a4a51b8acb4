//go:build integration

package integration

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
)

// Each reason and each warning that one broker can give cause to is shown when its cause is there, and gone when that
// is: by what is published, and nothing is guessed. What needs more brokers is with the tests that break those.
func TestReadinessSaysWhatIsWrongForAsLongAsItIs(t *testing.T) {
	t.Parallel()
	d := prepare(t, brokers)
	looks := time.Now()
	d.add("readiness", "readiness")
	d.api = &api{t: t, base: "http://" + d.add("gateway", "gateway")}
	h := d.hear()
	h.appears("partition 3: authority lease not acquired")
	d.add("planner", "planner-1")
	d.ready()
	h.vanishes("authority lease not acquired")

	untaken := d.inPartition("untaken", 3)
	d.taskless(untaken)
	d.produce(d.client(), &kgo.Record{Topic: d.names.Commands(), Key: []byte("poison"), Value: []byte("{")})
	d.doubted(h)
	d.garbled(h)
	h.appears("1 records came to ", d.names.DLQ()) // for ten minutes
	h.appears("effects wait for ", d.names.Tasks("shop"))
	eventually(t, readyLimit, "the topic is there again", d.applyTopics)
	h.vanishes("effects wait for ")

	d.orphaned(h, looks)
	d.endsWith(untaken, "3")
	d.ready()
}

// taskless is a workflow whose task has a queue without a topic, and nobody who would take it.
func (d *deployment) taskless(id string) {
	if _, err := d.admin().DeleteTopic(d.t.Context(), d.names.Tasks("shop")); err != nil {
		d.t.Fatal(err)
	}
	d.produce(d.client(), &kgo.Record{Topic: d.names.Commands(), Key: []byte(id), Value: command(id, 1)})
}

// doubted is a partition whose lease an operator marks as stale: its owner renews it.
func (d *deployment) doubted(h *heard) {
	d.operate(0, "mark-stale")
	h.appears("partition 0: authority lease is stale: ")
	h.vanishes("authority lease is stale")
}

// garbled is a partition whose record nobody can read: its owner writes it again.
func (d *deployment) garbled(h *heard) {
	d.produce(d.client(kgo.RecordPartitioner(kgo.ManualPartitioner())), kafka.Placed(d.names.Authority(), 1, []byte("1"), []byte("{")))
	h.appears("partition 1: authority lease invalid: ")
	h.vanishes("authority lease invalid")
}

// operate gives a partition an operator's word.
func (d *deployment) operate(p int32, word string) {
	d.t.Helper()
	body := object{"by": "ann", "why": "its machine hangs"}
	if err := d.api.do(http.MethodPost, fmt.Sprintf("/v1/partitions/%d/%s", p, word), body, nil); err != nil {
		d.t.Fatal(err)
	}
}

// orphaned are partitions whose only owner is killed, while more comes than anybody decides. Every minute it is looked
// for what the cluster may delete unread, from a time on: it would keep this for longer than it takes until then.
func (d *deployment) orphaned(h *heard, looks time.Time) {
	killed := time.Now()
	d.processes["planner-1"].kill(d.t)
	d.flood(4000) // makes a lag that is warned of
	next := time.Minute - killed.Sub(looks)%time.Minute
	if next < 10*time.Second {
		next += time.Minute
	}
	d.keepCommands(next * 3 / 2)
	h.appears("partition 2: authority lease expired: ")
	h.appears("partition 2: the last checkpoint is of ")
	h.appears("a record of " + d.names.Commands() + " has been unread since ")
	h.appears(`an attempt has been pending in queue "shop"`)
	h.appears("the lag of " + d.names.Commands() + " has grown for ")
	d.keepCommands(-time.Millisecond)
	moved := kadm.Offsets{}
	moved.Add(kadm.Offset{Topic: d.names.Commands(), Partition: 3, At: 0})
	if err := d.admin().CommitAllOffsets(d.t.Context(), d.names.PlannerGroup(), moved); err != nil {
		d.t.Fatal(err)
	}

	back := time.Now()
	d.add("planner", "planner-2")
	h.vanishes("authority lease expired")
	h.vanishes("the last checkpoint is of")
	h.vanishes("pending events")
	h.has(back, "replay has ", " pending events")
	h.vanishes("the lag of")
	d.add("executor", "executor")
	h.vanishes("an attempt has been pending in queue")
	h.appears("partition 3: the planner group's committed offsets are not those of the last checkpoint")
	d.operate(3, "force-release") // to itself, by a tenure that finds them right
	h.vanishes("the planner group's committed offsets")

	// The next look is up to a minute away. A service that starts looks at once, which takes no second.
	d.processes["readiness"].kill(d.t)
	d.processes["readiness"].start(d.t)
	looked := time.Now().Add(5 * time.Second)
	h.newest("the new service has looked", func(w *word) bool { return w.at.After(looked) })
	h.vanishes("has been unread since")
}

// flood starts so many workflows of one expression.
func (d *deployment) flood(n int) {
	d.t.Helper()
	all := make([]*kgo.Record, n)
	for i := range all {
		id := fmt.Sprintf("flood-%d", i)
		all[i] = &kgo.Record{Topic: d.names.Commands(), Key: []byte(id), Value: []byte(`{"command":"start","definition":{"name":"one","components":{"a":{"expr":"input"}}},"input":1,"id":"` + id + `"}`)}
	}
	if err := d.client().ProduceSync(d.t.Context(), all...).FirstErr(); err != nil {
		d.t.Fatal(err)
	}
}

// keepCommands sets for how long the cluster keeps commands, read or not; below 0: for ever.
func (d *deployment) keepCommands(keep time.Duration) {
	d.t.Helper()
	ms := strconv.FormatInt(keep.Milliseconds(), 10)
	all, err := d.admin().AlterTopicConfigs(d.t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &ms}}, d.names.Commands())
	if err == nil {
		_, err = all.On(d.names.Commands(), func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	if err != nil {
		d.t.Fatal(err)
	}
}
