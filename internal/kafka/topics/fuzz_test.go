package topics

import (
	"testing"

	"github.com/heddle-run/heddle"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// A topics.yaml that is accepted has nothing that makes no sense.
func FuzzParse(f *testing.F) {
	f.Add(heddle.TopicsYAML)
	f.Add([]byte("version: 1\nprefix: x.\npartitions: 1\nreplication: {factor: 1, min_insync: 1}\ngroups: {}\ntopics: {}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		var s *Spec
		var err error
		wiretest.Bounded(t, len(src), 4<<10, 4<<20, func() { s, err = Parse(src) })
		if err != nil {
			return
		}
		if s.Partitions < 1 || s.MaxFactor < 1 || s.MinInsync < 1 || s.Prefix == "" {
			t.Errorf("accepted: %+v", s)
		}
		for name, topic := range s.topics {
			if topic.Retention <= 0 && !topic.ByOwner || topic.MaxMessage < 1<<20 || topic.Partitions.shared == "" && topic.Partitions.fixed < 1 {
				t.Errorf("%s accepted as %+v", name, topic)
			}
		}
		for name, group := range s.groups {
			if group.SessionTimeout <= 0 || group.Heartbeat <= 0 {
				t.Errorf("%s accepted as %+v", name, group)
			}
		}
	})
}
