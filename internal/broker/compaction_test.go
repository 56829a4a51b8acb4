package broker_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
)

func TestCompactionKeepsTheLatestOfEachKey(t *testing.T) {
	c := brokertest.StartDir(t, t.TempDir(), few)
	topic := c.Topics.Definitions()
	produce(t, c, topic, "a", "b", "a", "c", "a", "last")
	if err := c.Broker.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantValues(t, c, topic, "b", "c", "a", "last")
	produce(t, c, topic, "d")
	wantValues(t, crash(t, c), topic, "b", "c", "a", "last", "d")
}

func TestCompactionWaitsForOpenTransactions(t *testing.T) {
	c := brokertest.StartDir(t, t.TempDir(), few)
	topic := c.Topics.State()
	produce(t, c, topic, "k", "other")
	open := transaction(t, c)
	if err := open.ProduceSync(t.Context(), kafka.Placed(topic, 0, []byte("k"), []byte("uncommitted"))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := c.Broker.Compact(t.Context()); !errors.Is(err, broker.ErrOpenTransaction) {
		t.Fatalf("compaction under an open transaction: %v", err)
	}
	if err := open.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	if err := c.Broker.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantValues(t, c, topic, "k", "other")
}

func TestACrashWithinACompactionLosesNothing(t *testing.T) {
	c := brokertest.StartDir(t, t.TempDir(), few)
	topic := c.Topics.Definitions()
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
	}
	produce(t, c, topic, want...)
	for _, when := range []string{"before", "within", "after"} {
		image := t.TempDir()
		if err := c.Broker.CrashImage(t.Context(), image); err != nil {
			t.Fatal(err)
		}
		if err := broker.KeepSegments(image, topic); err != nil {
			t.Fatal(err)
		}
		switch when {
		case "within": // the old segments are gone, the new ones half written
			segment := segmentOf(image, topic)
			if err := os.Remove(segment); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(segment, []byte("half"), 0o644); err != nil {
				t.Fatal(err)
			}
		case "after": // the copies are being removed
			if err := os.Rename(filepath.Join(image, "compacting"), filepath.Join(image, "compacting.tmp")); err != nil {
				t.Fatal(err)
			}
		}
		after := brokertest.StartDir(t, image, few)
		wantValues(t, after, topic, want...)
		produce(t, after, topic, "next")
		wantValues(t, crash(t, after), topic, append(want[:len(want):len(want)], "next")...)
		if _, err := os.Stat(filepath.Join(image, "compacting")); err == nil {
			t.Errorf("%s: the copies stayed", when)
		}
	}
}
