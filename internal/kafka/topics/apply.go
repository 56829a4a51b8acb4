package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Apply makes the cluster match: it creates what is missing, fixes settings and
// adds partitions to queues. It changes nothing that promises more than asked,
// and deletes nothing. It returns what it changed; a difference that it cannot
// change is a *MismatchError. Applying twice changes nothing the second time.
func (s *Set) Apply(ctx context.Context, cl *kgo.Client) ([]Difference, error) {
	diffs, err := s.Diff(ctx, cl)
	if err != nil {
		return nil, err
	}
	var fixed []Difference
	for _, d := range diffs {
		if d.Fixed {
			fixed = append(fixed, d)
		}
	}
	if len(fixed) > 0 {
		return nil, &MismatchError{Prefix: s.prefix, Differences: fixed}
	}
	if err := s.fix(ctx, cl, diffs); err != nil {
		return nil, err
	}
	if err := s.applyGroups(ctx, cl); err != nil {
		return nil, err
	}
	return diffs, s.awaitVisible(ctx, cl)
}

// AddQueue creates the topic of one more task queue and makes the queue part
// of the set. Adding a queue that exists is no error.
func (s *Set) AddQueue(ctx context.Context, cl *kgo.Client, queue string) error {
	o := s.options
	o.Queues = append(s.Queues(), queue)
	more, err := s.spec.Set(o)
	if err != nil {
		return err
	}
	topic := more.topic(more.Tasks(queue), more.spec.topics[tasksTemplate])
	if err := more.create(ctx, cl, topic); err != nil {
		return err
	}
	if err := more.applyGroups(ctx, cl); err != nil {
		return err
	}
	*s = *more
	return nil
}

func (s *Set) fix(ctx context.Context, cl *kgo.Client, diffs []Difference) error {
	byName := map[string]Topic{}
	for _, t := range s.Desired() {
		byName[t.Name] = t
	}
	for _, d := range diffs {
		var err error
		switch d.Setting {
		case settingTopic:
			err = s.create(ctx, cl, byName[d.Topic])
		case settingPartitions:
			err = grow(ctx, kadm.NewClient(cl), d.Topic, byName[d.Topic].Partitions)
		default:
			err = alter(ctx, kadm.NewClient(cl), d.Topic, d.Setting, d.Want)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) create(ctx context.Context, cl *kgo.Client, t Topic) error {
	replicas, err := s.replicas(ctx, cl)
	if err != nil {
		return err
	}
	configs := map[string]*string{}
	for k, v := range maps.All(t.Configs) {
		configs[k] = &v
	}
	isr := itoa(s.minInsync(replicas))
	configs[minInsync] = &isr
	_, err = kadm.NewClient(cl).CreateTopic(ctx, t.Partitions, replicas, configs, t.Name)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create topic %s: %w", t.Name, err)
	}
	return nil
}

// replicas is the factor of new topics.
func (s *Set) replicas(ctx context.Context, cl *kgo.Client) (int16, error) {
	if s.options.Replication != 0 {
		return s.options.Replication, nil
	}
	_, brokers, err := metadata(ctx, cl, s.Commands())
	if err != nil {
		return 0, err
	}
	return min(s.spec.MaxFactor, int16(len(brokers))), nil
}

func grow(ctx context.Context, adm *kadm.Client, topic string, partitions int32) error {
	resps, err := adm.UpdatePartitions(ctx, int(partitions), topic)
	if err == nil {
		err = resps.Error()
	}
	if err != nil {
		return fmt.Errorf("add partitions to topic %s: %w", topic, err)
	}
	return nil
}

func alter(ctx context.Context, adm *kadm.Client, topic, setting, value string) error {
	resps, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: setting, Value: &value}}, topic)
	for _, r := range resps {
		err = errors.Join(err, r.Err)
	}
	if err != nil {
		return fmt.Errorf("set %s of topic %s: %w", setting, topic, err)
	}
	return nil
}

// applyGroups sets the session settings that KIP-848 keeps with the broker, so
// that the partitions of a dead member move after seconds and not after the
// broker's default of 45. A broker that knows no group settings, or whose own
// settings allow no shorter sessions, keeps its own: there our groups use the
// classic protocol, in which each member asks for its session timeout.
func (s *Set) applyGroups(ctx context.Context, cl *kgo.Client) error {
	groups := map[string]Group{s.PlannerGroup(): s.spec.PlannerGroupSettings(), s.ArchiverGroup(): s.spec.ArchiverGroupSettings()}
	for _, q := range s.queues {
		groups[s.QueueGroup(q)] = s.spec.QueueGroupSettings()
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for name, g := range groups {
		req.Resources = append(req.Resources, groupResource(name, g))
	}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return fmt.Errorf("set the session settings of groups: %w", err)
	}
	for _, r := range resp.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil && !refused(err) {
			return fmt.Errorf("set the session settings of group %s: %w", r.ResourceName, err)
		}
	}
	return nil
}

// refused are the answers of brokers that know no group settings, or not these.
func refused(err error) bool {
	return errors.Is(err, kerr.InvalidRequest) || errors.Is(err, kerr.UnsupportedVersion) || errors.Is(err, kerr.InvalidConfig)
}

func groupResource(name string, g Group) kmsg.IncrementalAlterConfigsRequestResource {
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType = kmsg.ConfigResourceTypeGroupConfig
	r.ResourceName = name
	for k, d := range map[string]time.Duration{
		"consumer.session.timeout.ms":    g.SessionTimeout,
		"consumer.heartbeat.interval.ms": g.Heartbeat,
	} {
		v := strconv.FormatInt(d.Milliseconds(), 10)
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = k, &v
		r.Configs = append(r.Configs, c)
	}
	return r
}
