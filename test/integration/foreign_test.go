//go:build integration

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// client is a Kafka client that knows nothing of Heddle.
func (d *deployment) client(opts ...kgo.Opt) *kgo.Client {
	d.t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(strings.Split(d.brokers, ",")...),
		kgo.RequestTimeoutOverhead(time.Second), kgo.DialTimeout(time.Second))...) // some tests stall brokers
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(cl.Close)
	return cl
}

// produce sends one record and returns the partition that it went to.
func (d *deployment) produce(cl *kgo.Client, r *kgo.Record) int32 {
	d.t.Helper()
	out, err := cl.ProduceSync(d.t.Context(), r).First()
	if err != nil {
		d.t.Fatalf("producing to %s: %v", r.Topic, err)
	}
	return out.Partition
}

func (d *deployment) removeTopics() {
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(d.brokers, ",")...))
	if err != nil {
		d.t.Error(err)
		return
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	adm := kadm.NewClient(cl)
	found, err := adm.ListTopics(ctx)
	if err != nil {
		d.t.Error(err)
		return
	}
	for _, name := range found.Names() {
		if len(name) > len(d.prefix) && name[:len(d.prefix)] == d.prefix {
			if _, err := adm.DeleteTopic(ctx, name); err != nil {
				d.t.Errorf("deleting topic %s: %v", name, err)
			}
		}
	}
}

// command is what a person types into a console producer.
func command(id string, n int) []byte {
	b, err := json.Marshal(object{"command": "start", "definition": chain(2, "shop.add"), "input": n, "id": id})
	if err != nil {
		panic(err)
	}
	return b
}

func (d *deployment) endsWith(id, want string) {
	d.t.Helper()
	eventually(d.t, takeoverLimit, id+" ends", func() error {
		results, err := d.api.drained(id, "idle")
		if err == nil {
			wantResult(d.t, results, "end", want)
		}
		return err
	})
}

func TestAPlainRecordStartsAWorkflow(t *testing.T) {
	t.Parallel()
	d := deploy(t, 1)
	cl := d.client()
	for range 2 { // the second is a duplicate under the same id
		d.produce(cl, &kgo.Record{Topic: d.names.Commands(), Key: []byte("console"), Value: command("first", 5)})
	}
	d.endsWith("console", "7")
	if n := len(d.shop.seen("shop.add")); n != 2 {
		t.Errorf("two steps ran %d times: the duplicate was not dropped", n)
	}
}

func TestARecordOnTheWrongPartitionIsForwarded(t *testing.T) {
	t.Parallel()
	d := deploy(t, 1)
	cl := d.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for p := range int32(partitions) { // one of them is right
		id := fmt.Sprintf("crc-%d", p)
		for other := range int32(partitions) {
			d.produce(cl, &kgo.Record{Topic: d.names.Commands(), Partition: other, Key: []byte(id), Value: command("one", int(p))})
		}
	}
	for p := range partitions {
		d.endsWith(fmt.Sprintf("crc-%d", p), fmt.Sprint(p+2))
	}
	if n := len(d.shop.seen("shop.add")); n != 2*partitions {
		t.Errorf("%d attempts, want %d: a forwarded record was not taken as the same command", n, 2*partitions)
	}
}

func TestBadRecordsGoToTheDLQAndThePartitionGoesOn(t *testing.T) {
	t.Parallel()
	d := deploy(t, 1)
	cl := d.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	home := d.produce(d.client(), &kgo.Record{Topic: d.names.Commands(), Key: []byte("good"), Value: []byte("not JSON at all")})
	bad := [][]byte{
		[]byte("not JSON at all"),
		{0xff, 0x00, 0x80},
		[]byte(`{"command":"explode"}`),
		[]byte(`{"command":"start"}`),
		{},
	}
	for _, b := range bad[1:] {
		d.produce(cl, &kgo.Record{Topic: d.names.Commands(), Partition: home, Key: []byte("good"), Value: b})
	}
	garbage := []byte{0x07, 0xff, 0xff}
	d.produce(cl, &kgo.Record{Topic: d.names.Inbox(), Partition: home, Key: []byte("good"), Value: garbage})
	d.produce(cl, &kgo.Record{Topic: d.names.Commands(), Partition: home, Key: []byte("good"), Value: command("ok", 1)})
	d.endsWith("good", "3")
	d.wantInDLQ(append(bad, garbage))
}

// wantInDLQ waits until the dlq holds a record for each of the bytes, with them
// and a reason.
func (d *deployment) wantInDLQ(bad [][]byte) {
	d.t.Helper()
	cl := d.client(kgo.ConsumeTopics(d.names.DLQ()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(d.t.Context(), readyLimit)
	defer cancel()
	missing := map[int]bool{}
	for i := range bad {
		missing[i] = true
	}
	for len(missing) > 0 {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			d.t.Fatalf("the dlq misses the bytes number %v", missing)
		}
		for r := range fetches.RecordsAll() {
			original, reason := dlqRecord(d.t, r)
			if reason == "" {
				d.t.Errorf("a dlq record without reason: %s", r.Value)
			}
			for i, b := range bad {
				if bytes.Equal(b, original) {
					delete(missing, i)
				}
			}
		}
	}
}

// dlqRecord reads a dlq record.
func dlqRecord(t *testing.T, r *kgo.Record) (original []byte, reason string) {
	t.Helper()
	var v struct {
		Reason string `json:"reason"`
		Value  []byte `json:"value"`
	}
	if err := json.Unmarshal(r.Value, &v); err != nil {
		t.Fatalf("dlq record %s: %v", r.Value, err)
	}
	return v.Value, v.Reason
}
