package topics

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle"
	"github.com/heddle-run/heddle/shared/policy"
)

func TestTheEmbeddedTopicsParse(t *testing.T) {
	spec, err := Parse(heddle.TopicsYAML)
	if err != nil {
		t.Fatal(err)
	}
	set, err := spec.Set(Options{Partitions: 8, Queues: []string{"orders", "default"}})
	if err != nil {
		t.Fatal(err)
	}
	desired := set.Desired()
	if len(desired) != len(baseNames)+1 {
		t.Errorf("%d topics, want one per name and one more queue", len(desired))
	}
	for _, topic := range desired {
		if !strings.HasPrefix(topic.Name, "heddle.") {
			t.Errorf("topic %s is not under the prefix", topic.Name)
		}
		if topic.Compacted && topic.Configs[retentionMs] != "-1" {
			t.Errorf("topic %s is compacted and has a retention", topic.Name)
		}
		if set.MaxBytes(topic.Name) != topic.MaxBytes {
			t.Errorf("topic %s: MaxBytes says %d, want %d", topic.Name, set.MaxBytes(topic.Name), topic.MaxBytes)
		}
	}
}

func TestTopicsKeyedByWorkflowShareOnePartitionCount(t *testing.T) {
	set, err := Default().Set(Options{Partitions: 12, QueuePartitions: 30})
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range set.Desired() {
		queue, isQueue := set.Queue(topic.Name)
		switch {
		case isQueue && topic.Partitions != 30:
			t.Errorf("queue %s has %d partitions, want 30", queue, topic.Partitions)
		case strings.HasPrefix(topic.Key, "workflow ID") && !isQueue && topic.Partitions != 12:
			t.Errorf("topic %s has %d partitions, want 12", topic.Name, topic.Partitions)
		}
	}
}

func TestTheFileIsCheckedWithPaths(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"field clean not found", "cleanup: compact", "clean: compact", "field clean not found"},
		{"unknown cleanup", "cleanup: compact", "cleanup: shred", "state.cleanup"},
		{"bad partitions", "partitions: workflow", "partitions: some", ".partitions"},
		{"no partitions", "partitions: workflow", "partitions: 0", ".partitions"},
		{"compaction of what is not compacted", "retention: 30d", "retention: 30d\n    segment: 16MiB\n    segment_age: 1h\n    compacted_within: 1h", "topics.dlq.compacted_within: only topics with cleanup compact are compacted"},
		{"a segment that holds one batch", "segment: 64MiB", "segment: 7MiB", ".segment: want at least twice max_message"},
		{"half of what compaction needs", "    segment_age: 10m\n", "", ".segment_age: \"\" is no positive duration"},
		{"bad retention", "retention: 30d", "retention: long", "topics.dlq.retention"},
		{"retention that wraps around", "retention: 30d", "retention: 300000d", "topics.dlq.retention: \"300000d\" is longer than 106751d"},
		{"retention back from before", "retention: 30d", "retention: -200000d", "topics.dlq.retention: \"-200000d\" is no positive duration"},
		{"retention of too many digits", "retention: 30d", "retention: 99999999999999999999d", "topics.dlq.retention"},
		{"a compacted topic that its owner trims", "cleanup: delete\n    stamped_by: broker\n    retention: owner", "cleanup: compact\n    stamped_by: broker\n    retention: owner", ".retention: an owner deletes records of topics with cleanup delete only"},
		{"a heartbeat that wraps around", "heartbeat: 1s", "heartbeat: 40000d", "groups.planner.heartbeat: want at most a third"},
		{"bad size", "max_message: 2MiB", "max_message: 2MB", ".max_message"},
		{"missing topic", "  dlq:", "  dlx:", "topics.dlq: missing"},
		{"unknown topic", "  dlq:", "  dlx:", "topics.dlx: unknown topic"},
		{"unknown version", "version: 1", "version: 2", "version"},
		{"missing key", "key: scope", "", "topics.readiness.key: missing"},
		{"slow heartbeat", "heartbeat: 1s", "heartbeat: 5s", "groups.planner.heartbeat"},
		{"unknown stamp", "stamped_by: broker", "stamped_by: sun", ".stamped_by"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := strings.Replace(string(heddle.TopicsYAML), c.old, c.new, -1)
			if src == string(heddle.TopicsYAML) {
				t.Fatalf("%q is not in the file", c.old)
			}
			_, err := Parse([]byte(src))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestNamesRoundTrip(t *testing.T) {
	n, err := NewNames("acme.prod.")
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		n.Commands():         "acme.prod.commands",
		n.Tasks("orders"):    "acme.prod.tasks.orders",
		n.PlannerTxn(7):      "acme.prod-planner-7",
		n.PlannerGroup():     "acme.prod.planner",
		n.QueueGroup("x"):    "acme.prod.queue.x",
		n.base(n.Tasks("x")): "tasks.QUEUE",
		n.base(n.DLQ()):      "dlq",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if q, ok := n.Queue("acme.prod.tasks.orders"); !ok || q != "orders" {
		t.Errorf("Queue: %q %v", q, ok)
	}
	if _, ok := n.Queue("heddle.tasks.orders"); ok {
		t.Error("a topic of another deployment counts as a queue")
	}
}

func TestNamesThatKafkaWouldRefuseAreRefused(t *testing.T) {
	for _, q := range []string{"", "a.b", "a b", "-a", strings.Repeat("a", 101)} {
		if policy.CheckQueue(q) == nil {
			t.Errorf("queue %q accepted", q)
		}
	}
	for _, p := range []string{"a/b", ".a", strings.Repeat("a", 70)} {
		if _, err := NewNames(p); err == nil {
			t.Errorf("prefix %q accepted", p)
		}
	}
}

func TestAPromiseOfMoreIsNoMismatch(t *testing.T) {
	for _, c := range []struct {
		setting, have, want string
		ok                  bool
	}{
		{retentionMs, "1000", "1000", true},
		{retentionMs, "2000", "1000", true},
		{retentionMs, "500", "1000", false},
		{retentionMs, "-1", "1000", true},
		{retentionMs, "1000", "-1", false},
		{maxMessage, "2000", "1000", true},
		{maxMessage, "999", "1000", false},
		{maxMessage, "-1", "1000", false},
		{minInsync, "1", "2", false},
		{cleanupPolicy, "delete", "compact", false},
		{cleanupPolicy, "compact,delete", "compact", false},
		{maxLagMs, "600000", "600000", true},
		{maxLagMs, "599999", "600000", true},
		{maxLagMs, "600001", "600000", false},
		{maxLagMs, "9223372036854775807", "600000", false},
		{maxLagMs, "", "600000", false},
		{minLagMs, "0", "0", true},
		{minLagMs, "1", "0", false},
		{segmentBytes, "1073741824", "16777216", false},
	} {
		if got := promises(c.setting, c.have, c.want); got != c.ok {
			t.Errorf("%s %s for %s: %v, want %v", c.setting, c.have, c.want, got, c.ok)
		}
	}
}
