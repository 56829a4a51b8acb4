package topics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Difference is one way in which a cluster is not as topics.yaml wants it.
type Difference struct {
	Topic   string
	Setting string // "topic" when it does not exist, "partitions", "replicas", or Kafka's name of the setting
	Have    string // empty when the topic does not exist
	Want    string
	Fixed   bool // Apply cannot change it: the topics have to be made anew
	Deletes bool // the cluster deletes records of a log that only their owner may delete
	Grows   bool // the topic grows longer than it should before it is compacted
}

// String is one line for people.
func (d Difference) String() string {
	if d.Setting == settingTopic {
		return d.Topic + ": the topic does not exist"
	}
	text := fmt.Sprintf("%s: %s is %s, want %s", d.Topic, d.Setting, d.Have, d.Want)
	if d.Deletes {
		text += ": the cluster deletes records that may not be read yet"
	}
	if d.Grows {
		text += ": a client that reads it from its start has more to read"
	}
	return text
}

const (
	settingTopic      = "topic"
	settingPartitions = "partitions"
	settingReplicas   = "replicas"
)

// MismatchError is a cluster that a service must not run on.
type MismatchError struct {
	Prefix      string
	Differences []Difference
}

// Error names every topic and setting, and the command that fixes them.
func (e *MismatchError) Error() string {
	var b strings.Builder
	b.WriteString("the cluster's topics are not as this version needs them:")
	fixed := false
	for _, d := range e.Differences {
		b.WriteString("\n  " + d.String())
		fixed = fixed || d.Fixed
	}
	fmt.Fprintf(&b, "\nmend it with: heddle topics apply --prefix %s", e.Prefix)
	if fixed {
		b.WriteString("\nbut partition counts and replicas of topics that exist are fixed: use another --prefix, or the --partitions they were made with")
	}
	return b.String()
}

// tolerated says of a difference that services run with it, and tell of it: some
// clusters allow no other setting.
func (d *Difference) tolerated() bool { return d.Deletes || d.Grows }

// CheckToRun is Check for a service, which refuses to run on a mismatch. That a
// cluster deletes records which only their owner may delete is none, nor that it
// compacts late: where it has to, the service is told, to warn of it.
func (s *Set) CheckToRun(ctx context.Context, cl *kgo.Client) (tolerated []Difference, err error) {
	diffs, err := s.Diff(ctx, cl)
	if err != nil {
		return nil, err
	}
	wrong := slices.DeleteFunc(slices.Clone(diffs), func(d Difference) bool { return d.tolerated() })
	if len(wrong) > 0 {
		return nil, &MismatchError{Prefix: s.prefix, Differences: diffs}
	}
	return diffs, nil
}

// Check returns a *MismatchError when the cluster is not as wanted.
func (s *Set) Check(ctx context.Context, cl *kgo.Client) error {
	diffs, err := s.Diff(ctx, cl)
	if err != nil {
		return err
	}
	if len(diffs) > 0 {
		return &MismatchError{Prefix: s.prefix, Differences: diffs}
	}
	return nil
}

// Diff compares the cluster with Desired, sorted by topic. A cluster that
// promises more than asked (longer retention, larger messages, more in-sync
// replicas, more partitions of a queue, earlier compaction) does not differ.
func (s *Set) Diff(ctx context.Context, cl *kgo.Client) ([]Difference, error) {
	desired := s.Desired()
	have, err := describe(ctx, cl, desired)
	if err != nil {
		return nil, err
	}
	var diffs []Difference
	for _, want := range desired {
		diffs = append(diffs, s.compare(want, have[want.Name])...)
	}
	slices.SortStableFunc(diffs, func(a, b Difference) int { return cmp.Compare(a.Topic, b.Topic) })
	return diffs, nil
}

// actual is a topic as the cluster has it; nil when it does not exist.
type actual struct {
	shape
	configs map[string]string
}

func describe(ctx context.Context, cl *kgo.Client, topics []Topic) (map[string]*actual, error) {
	shapes, _, err := metadata(ctx, cl, namesOf(topics)...)
	if err != nil {
		return nil, err
	}
	out := map[string]*actual{}
	var existing []string
	for name, shape := range shapes {
		out[name] = &actual{shape: shape, configs: map[string]string{}}
		existing = append(existing, name)
	}
	if len(existing) == 0 {
		return out, nil
	}
	configs, err := kadm.NewClient(cl).DescribeTopicConfigs(ctx, existing...)
	if err != nil {
		return nil, fmt.Errorf("describe topic settings: %w", err)
	}
	for _, rc := range configs {
		if errors.Is(rc.Err, kerr.UnknownTopicOrPartition) { // the broker asked has not heard of it yet, or it is gone again
			delete(out, rc.Name)
			continue
		}
		if rc.Err != nil {
			return nil, fmt.Errorf("describe settings of topic %s: %w", rc.Name, rc.Err)
		}
		collect(out[rc.Name].configs, rc.Configs)
	}
	return out, nil
}

func namesOf(topics []Topic) []string {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.Name
	}
	return names
}

// collect keeps the effective values: the topic's own before the defaults.
func collect(into map[string]string, configs []kadm.Config) {
	slices.SortStableFunc(configs, func(a, b kadm.Config) int { return cmp.Compare(b.Source, a.Source) })
	for _, c := range configs {
		into[c.Key] = c.MaybeValue()
	}
}

func (s *Set) compare(want Topic, have *actual) []Difference {
	if have == nil {
		return []Difference{{Topic: want.Name, Setting: settingTopic}}
	}
	var diffs []Difference
	add := func(setting, have, want2 string, fixed bool) {
		diffs = append(diffs, Difference{Topic: want.Name, Setting: setting, Have: have, Want: want2, Fixed: fixed})
	}
	_, isQueue := s.Queue(want.Name)
	if have.partitions < want.Partitions || have.partitions > want.Partitions && !isQueue {
		// Only a queue's tasks may move between partitions; any other topic
		// would lose the workflows that live on the partitions it has.
		add(settingPartitions, itoa(have.partitions), itoa(want.Partitions), !isQueue)
	}
	if r := s.options.Replication; r != 0 && have.replicas < r {
		add(settingReplicas, itoa(have.replicas), itoa(r), true)
	}
	for _, key := range slices.Sorted(maps.Keys(want.Configs)) {
		if !promises(key, have.configs[key], want.Configs[key]) {
			add(key, have.configs[key], want.Configs[key], false)
			last := &diffs[len(diffs)-1]
			last.Deletes, last.Grows = !want.Compacted && want.Configs[key] == forever, grows(key)
		}
	}
	if isr := itoa(s.minInsync(have.replicas)); !promises(minInsync, have.configs[minInsync], isr) {
		add(minInsync, have.configs[minInsync], isr, false)
	}
	return diffs
}

// minInsync is how many in-sync replicas an acknowledgement needs: a factor of
// one or two cannot lose a broker and go on accepting with more than one.
func (s *Set) minInsync(replicas int16) int16 {
	if replicas < 3 {
		return 1
	}
	return s.spec.MinInsync
}

// promises reports whether a setting's value is as wanted or promises more.
func promises(setting, have, want string) bool {
	if have == want {
		return true
	}
	h, errHave := strconv.ParseInt(have, 10, 64)
	w, errWant := strconv.ParseInt(want, 10, 64)
	if errHave != nil || errWant != nil {
		return false
	}
	switch setting {
	case retentionMs:
		return h == -1 || w >= 0 && h >= w
	case deleteRetentionMs, maxMessage, minInsync:
		return w >= 0 && h >= w
	}
	return grows(setting) && h >= 0 && h <= w
}

// grows says of a setting that a topic is longer where it is larger than wanted.
func grows(setting string) bool {
	switch setting {
	case segmentBytes, segmentMs, maxLagMs, minLagMs:
		return true
	}
	return false
}

func itoa[N int16 | int32](n N) string { return strconv.Itoa(int(n)) }
