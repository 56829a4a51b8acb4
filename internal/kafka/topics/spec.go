// Package topics knows the topics of a deployment: it parses topics.yaml, names
// every topic, group and transactional id, and makes a cluster match or says
// how it differs.
package topics

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/heddle-run/heddle"
)

// Spec is topics.yaml, checked.
type Spec struct {
	Prefix     string
	Partitions int32 // the default for topics keyed by workflow ID
	MaxFactor  int16 // replicas, where the cluster has as many brokers
	MinInsync  int16 // in-sync replicas that an acknowledgement needs, where the factor is 3 or more

	topics map[string]topicSpec // by base name
	groups map[string]groupSpec
}

type topicSpec struct {
	About      string
	Key        string
	Partitions partitionRule
	Cleanup    string
	Retention  time.Duration
	ByOwner    bool  // the planner that owns the partition deletes what nobody needs any more
	MaxMessage int32 // bytes
	Segment    int32 // bytes; 0: the cluster's default
	SegmentAge time.Duration
	Within     time.Duration // of compaction; 0: the cluster's default
	StampedBy  string
	Readers    []string
	Writers    []string
}

type groupSpec struct {
	About          string
	SessionTimeout time.Duration
	Heartbeat      time.Duration
}

// partitionRule is a fixed count, or zero with the name of a shared count.
type partitionRule struct {
	fixed  int32
	shared string // "workflow" or "queue"
}

const (
	byWorkflow = "workflow"
	byQueue    = "queue"
	compact    = "compact"

	ownerDeletes = "owner"
)

// Default is the embedded topics.yaml, parsed once; nobody changes it. It panics
// when that does not parse, which a test rules out.
func Default() *Spec { return parsed() }

var parsed = sync.OnceValue(func() *Spec {
	spec, err := Parse(heddle.TopicsYAML)
	if err != nil {
		panic(fmt.Sprintf("embedded topics.yaml: %v", err))
	}
	return spec
})

// The file as written.
type (
	fileSpec struct {
		Version     int                  `yaml:"version"`
		Prefix      string               `yaml:"prefix"`
		Partitions  int32                `yaml:"partitions"`
		Replication fileReplication      `yaml:"replication"`
		Groups      map[string]fileGroup `yaml:"groups"`
		Topics      map[string]fileTopic `yaml:"topics"`
	}
	fileReplication struct {
		Factor    int16 `yaml:"factor"`
		MinInsync int16 `yaml:"min_insync"`
	}
	fileGroup struct {
		About          string `yaml:"about"`
		SessionTimeout string `yaml:"session_timeout"`
		Heartbeat      string `yaml:"heartbeat"`
	}
	fileTopic struct {
		About      string   `yaml:"about"`
		Key        string   `yaml:"key"`
		Partitions string   `yaml:"partitions"`
		Cleanup    string   `yaml:"cleanup"`
		StampedBy  string   `yaml:"stamped_by"`
		Retention  string   `yaml:"retention"`
		MaxMessage string   `yaml:"max_message"`
		Segment    string   `yaml:"segment"`
		SegmentAge string   `yaml:"segment_age"`
		Within     string   `yaml:"compacted_within"`
		Readers    []string `yaml:"readers"`
		Writers    []string `yaml:"writers"`
	}
)

// Parse reads topics.yaml. It is strict: unknown fields, missing topics and
// values that make no sense are errors, each with its path.
func Parse(src []byte) (*Spec, error) {
	var f fileSpec
	if err := yaml.Load(src, &f, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("topics.yaml: %w", err)
	}
	c := checker{}
	spec := c.spec(f)
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	return spec, nil
}

// checker collects every error of a file, each with its path.
type checker struct{ errs []error }

func (c *checker) failf(path, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("topics.yaml: %s: %s", path, fmt.Sprintf(format, args...)))
}

func (c *checker) spec(f fileSpec) *Spec {
	if f.Version != 1 {
		c.failf("version", "%d is unknown, want 1", f.Version)
	}
	if _, err := NewNames(f.Prefix); err != nil || f.Prefix == "" {
		c.failf("prefix", "%q is no topic prefix", f.Prefix)
	}
	if f.Partitions < 1 {
		c.failf("partitions", "want at least 1")
	}
	if f.Replication.Factor < 1 || f.Replication.MinInsync < 1 || f.Replication.MinInsync > f.Replication.Factor {
		c.failf("replication", "want 1 <= min_insync <= factor")
	}
	spec := &Spec{
		Prefix: f.Prefix, Partitions: f.Partitions,
		MaxFactor: f.Replication.Factor, MinInsync: f.Replication.MinInsync,
		topics: map[string]topicSpec{}, groups: map[string]groupSpec{},
	}
	for name, t := range f.Topics {
		spec.topics[name] = c.topic("topics."+name, name, t)
	}
	for name, g := range f.Groups {
		spec.groups[name] = c.group("groups."+name, name, g)
	}
	c.complete(f)
	return spec
}

// complete checks that every name the code knows is described.
func (c *checker) complete(f fileSpec) {
	for _, name := range baseNames {
		if _, ok := f.Topics[name]; !ok {
			c.failf("topics."+name, "missing")
		}
	}
	for _, name := range groupNames {
		if _, ok := f.Groups[name]; !ok {
			c.failf("groups."+name, "missing")
		}
	}
}

func (c *checker) topic(path, name string, t fileTopic) topicSpec {
	if !slices.Contains(baseNames, name) {
		c.failf(path, "unknown topic")
	}
	if t.Cleanup != "delete" && t.Cleanup != compact {
		c.failf(path+".cleanup", "%q, want delete or compact", t.Cleanup)
	}
	if t.StampedBy != "" && t.StampedBy != "client" && t.StampedBy != "broker" {
		c.failf(path+".stamped_by", "%q, want client or broker", t.StampedBy)
	}
	for field, v := range map[string]int{"about": len(t.About), "key": len(t.Key), "readers": len(t.Readers), "writers": len(t.Writers)} {
		if v == 0 {
			c.failf(path+"."+field, "missing")
		}
	}
	byOwner := t.Retention == ownerDeletes
	if byOwner && t.Cleanup != "delete" {
		c.failf(path+".retention", "an owner deletes records of topics with cleanup delete only")
	}
	retention := time.Duration(0)
	if !byOwner {
		retention = c.duration(path+".retention", t.Retention)
	}
	out := topicSpec{
		ByOwner: byOwner,
		About:   t.About, Key: t.Key, Cleanup: t.Cleanup, StampedBy: t.StampedBy,
		Readers: t.Readers, Writers: t.Writers,
		Partitions: c.partitions(path+".partitions", t.Partitions),
		Retention:  retention,
		MaxMessage: c.size(path+".max_message", t.MaxMessage),
	}
	c.compaction(path, t, &out)
	return out
}

// compaction reads what bounds the part of a compacted topic that is not compacted.
func (c *checker) compaction(path string, t fileTopic, out *topicSpec) {
	if t.Segment == "" && t.SegmentAge == "" && t.Within == "" {
		return
	}
	if t.Cleanup != compact {
		c.failf(path+".compacted_within", "only topics with cleanup compact are compacted")
	}
	out.Segment = c.size(path+".segment", t.Segment)
	out.SegmentAge = c.duration(path+".segment_age", t.SegmentAge)
	out.Within = c.duration(path+".compacted_within", t.Within)
	if out.Segment < 2*out.MaxMessage {
		c.failf(path+".segment", "want at least twice max_message")
	}
}

func (c *checker) group(path, name string, g fileGroup) groupSpec {
	if !slices.Contains(groupNames, name) {
		c.failf(path, "unknown group")
	}
	out := groupSpec{
		About:          g.About,
		SessionTimeout: c.duration(path+".session_timeout", g.SessionTimeout),
		Heartbeat:      c.duration(path+".heartbeat", g.Heartbeat),
	}
	if out.Heartbeat > out.SessionTimeout/3 {
		c.failf(path+".heartbeat", "want at most a third of session_timeout")
	}
	return out
}

func (c *checker) partitions(path, s string) partitionRule {
	if s == byWorkflow || s == byQueue {
		return partitionRule{shared: s}
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 1 {
		c.failf(path, "%q, want workflow, queue or a number of at least 1", s)
	}
	return partitionRule{fixed: int32(n)}
}

const (
	day      = 24 * time.Hour
	mostDays = math.MaxInt64 / int64(day) // days that fit a duration
)

// duration reads a Go duration, or whole days as in 7d.
func (c *checker) duration(path, s string) time.Duration {
	var d time.Duration
	var err error
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int64
		if n, err = strconv.ParseInt(days, 10, 64); n > mostDays {
			c.failf(path, "%q is longer than %dd", s, mostDays)
			return 0
		}
		d = time.Duration(max(0, n)) * day
	} else {
		d, err = time.ParseDuration(s)
	}
	if err != nil || d <= 0 {
		c.failf(path, "%q is no positive duration", s)
	}
	return d
}

func (c *checker) size(path, s string) int32 {
	mib, ok := strings.CutSuffix(s, "MiB")
	n, err := strconv.ParseInt(mib, 10, 32)
	if !ok || err != nil || n < 1 || n > 512 {
		c.failf(path, "%q, want 1MiB to 512MiB", s)
	}
	return int32(n) << 20
}
