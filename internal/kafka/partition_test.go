package kafka

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMurmur2IsThatOfJavaClients(t *testing.T) {
	// org.apache.kafka.common.utils.UtilsTest.testMurmur2
	for key, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestKeysGoWhereKafkasDefaultPartitionerPutsThem(t *testing.T) {
	theirs := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	for n := 1; n < 70; n += 3 {
		for i := range 200 {
			r := Keyed("t", fmt.Appendf(nil, "order-%d", i*7919), nil)
			want := theirs.Partition(r, n)
			if got := (keyOrPlace{}).Partition(r, n); got != want {
				t.Fatalf("key %s among %d: partition %d, want %d", r.Key, n, got, want)
			}
		}
	}
}

func TestAPlacedRecordIgnoresItsKey(t *testing.T) {
	r := Placed("t", 3, []byte("order-1"), nil)
	if got := (keyOrPlace{}).Partition(r, 8); got != 3 {
		t.Errorf("partition %d, want 3", got)
	}
}
