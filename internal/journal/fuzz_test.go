package journal

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
)

// What is not a journal record is an error, and what is one comes back as the
// same headers.
func FuzzDecode(f *testing.F) {
	for _, rec := range []*events.Record{record(1, 1, ""), record(2, 7, "w", &events.WorkflowIdle{})} {
		k := encode(f, rec)
		f.Add([]byte("e"), k.Headers[0].Value, []byte("s"), k.Headers[1].Value, k.Key, k.Value, rec.Time)
	}
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, key, value []byte, ms int64) {
		in := &kgo.Record{
			Key: key, Value: value, Timestamp: time.UnixMilli(ms),
			Headers: []kgo.RecordHeader{{Key: string(k1), Value: v1}, {Key: string(k2), Value: v2}},
		}
		rec, err := Decode(in)
		if err != nil {
			return
		}
		h, err := ParseHeaders(in.Headers)
		if err != nil || h != headerOf(rec) || string(key) != rec.Workflow || ms != rec.Time {
			t.Fatalf("decoded %+v with headers %+v: %v", rec, h, err)
		}
	})
}

func BenchmarkHeadersAndFilter(b *testing.B) {
	list := make([]*kgo.Record, 1000)
	for i := range list {
		list[i] = encode(b, record(1, uint64(i+1), "w", &events.WorkflowIdle{}))
	}
	var f Filter
	b.ReportAllocs()
	for i := range b.N {
		if i%len(list) == 0 {
			f = Filter{}
		}
		h, err := ParseHeaders(list[i%len(list)].Headers)
		if err != nil || !h.Lawful(&f) {
			b.Fatal(h, err)
		}
	}
}
