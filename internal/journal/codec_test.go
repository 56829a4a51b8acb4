package journal

import (
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

func record(epoch, seq uint64, workflow string, list ...events.Event) *events.Record {
	r := &events.Record{
		Position: events.Position{Epoch: epoch, Seq: seq}, Workflow: workflow,
		Time: 1_700_000_000_000 + int64(epoch*1000+seq), Events: list,
	}
	if seq == 1 {
		r.Replaces = epoch - 1
	}
	return r
}

func encode(t testing.TB, rec *events.Record) *kgo.Record {
	t.Helper()
	names, err := kafka.Config{}.Names()
	if err != nil {
		t.Fatal(err)
	}
	return Encode(rec, names, 3)
}

func TestRecordsComeBackAsTheyWereEncoded(t *testing.T) {
	for _, rec := range []*events.Record{
		record(1, 1, ""),
		record(7, 1, "", &events.AuthorityAcquired{Owner: "o", LeaseID: "l"}),
		record(7, 1<<40, "w", &events.WorkflowIdle{}),
	} {
		k := encode(t, rec)
		if k.Partition != 3 || string(k.Key) != rec.Workflow || k.Timestamp.UnixMilli() != rec.Time {
			t.Errorf("%s: encoded as %+v", rec.Position, k)
		}
		got, err := Decode(k)
		if err != nil {
			t.Fatalf("%s: %v", rec.Position, err)
		}
		if string(events.EncodeRecord(got)) != string(k.Value) {
			t.Errorf("%s comes back as %+v", rec.Position, got)
		}
		h, err := ParseHeaders(k.Headers)
		if err != nil || h.Takeover != (rec.Position.Seq == 1) || h.Replaces != rec.Replaces || h.Position != rec.Position {
			t.Errorf("%s: headers say %+v, %v", rec.Position, h, err)
		}
	}
}

func TestHeadersAndValueMustAgree(t *testing.T) {
	other := record(3, 5, "w", &events.WorkflowIdle{})
	for name, spoil := range map[string]func(k *kgo.Record){
		"epoch":     func(k *kgo.Record) { k.Headers[0].Value = []byte("4") },
		"seq":       func(k *kgo.Record) { k.Headers[1].Value = []byte("6") },
		"takeover":  func(k *kgo.Record) { k.Headers = append(k.Headers, decimal(replacesHeader, 2)) },
		"key":       func(k *kgo.Record) { k.Key = []byte("v") },
		"no key":    func(k *kgo.Record) { k.Key = nil },
		"timestamp": func(k *kgo.Record) { k.Timestamp = k.Timestamp.Add(time.Millisecond) },
		"value":     func(k *kgo.Record) { k.Value = k.Value[:len(k.Value)-1] },
		"no seq":    func(k *kgo.Record) { k.Headers = k.Headers[:1] },
	} {
		k := encode(t, other)
		spoil(k)
		if rec, err := Decode(k); err == nil {
			t.Errorf("%s: decoded as %+v", name, rec)
		}
	}
}

func TestHeadersHaveOneForm(t *testing.T) {
	for _, bad := range []string{"", "01", "+1", "-1", " 1", "1 ", "1.0", "x", "18446744073709551616", "99999999999999999999", "184467440737095516150"} {
		if v, ok := parseDecimal([]byte(bad)); ok {
			t.Errorf("%q is read as %d", bad, v)
		}
	}
	for _, good := range []uint64{0, 1, 10, 1<<64 - 1, 1<<64 - 6} {
		if v, ok := parseDecimal(decimal("e", good).Value); !ok || v != good {
			t.Errorf("%d is read as %d, %v", good, v, ok)
		}
	}
	twice := append(appendHeaders(nil, nil, record(1, 2, "w")), decimal(epochHeader, 1))
	if h, err := ParseHeaders(twice); err == nil {
		t.Errorf("a header given twice is read as %+v", h)
	}
	if _, err := ParseHeaders(append(appendHeaders(nil, nil, record(1, 2, "w")), kgo.RecordHeader{Key: "traceparent"})); err != nil {
		t.Errorf("a foreign header: %v", err)
	}
}

// decimal is a header as records have them.
func decimal(key string, v uint64) kgo.RecordHeader {
	return kgo.RecordHeader{Key: key, Value: strconv.AppendUint(nil, v, 10)}
}
