package worker

import (
	"io"
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker that takes less metadata gets shorter notes, until it takes them, and
// with them the offsets.
func TestANoteThatABrokerRefusesIsShortened(t *testing.T) {
	const limit = 100
	tk := &Worker{tracker: newTracker(1), log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	p := &partition{}
	c := &consumer{worker: tk, topic: "tasks", mostNote: mostNote, partitions: map[int32]*partition{0: p}}
	for offset := range int64(2000) {
		if at := p.enter(offset, 0); offset%2 == 1 {
			at.finish()
		}
	}
	for range 10 {
		all := c.due()
		if len(all) == 0 {
			break
		}
		resp := kmsg.OffsetCommitResponse{Topics: []kmsg.OffsetCommitResponseTopic{{Topic: "tasks", Partitions: []kmsg.OffsetCommitResponseTopicPartition{{}}}}}
		if len(all[0].note) > limit {
			resp.Topics[0].Partitions[0].ErrorCode = kerr.OffsetMetadataTooLarge.Code
		}
		c.committed(t.Context(), all, &resp)
	}
	if p.due() || c.mostNote > 2*limit || c.mostNote < limit/2 {
		t.Errorf("notes have %d characters, the broker takes %d; due: %v", c.mostNote, limit, p.due())
	}
	if at, note := p.point(c.mostNote); at != (kgo.EpochOffset{}) || len(decodeNote(0, note)) == 0 {
		t.Errorf("committed is %+v, with the note %q", at, note)
	}
}

// Whatever stands beside an offset, it is a note or it is not, and a note says of
// places behind the offset only, in their order.
func FuzzNote(f *testing.F) {
	f.Add(int64(7), encodeNote(7, []interval{{8, 8}, {10, 1000}}, mostNote))
	f.Add(int64(0), noteVersion+"AAAA")
	f.Add(int64(1), "member-1")
	f.Fuzz(func(t *testing.T, committed int64, note string) {
		at := committed
		for _, i := range decodeNote(committed, note) {
			if i.from < at || i.to < i.from {
				t.Fatalf("of %d, %q says %+v behind %d", committed, note, i, at)
			}
			at = i.to
		}
	})
}
