package workertest

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func committed(t testing.TB, cl *kgo.Client, group, topic string, partition int32) int64 {
	t.Helper()
	offsets, err := kadm.NewClient(cl).FetchOffsets(context.Background(), group)
	if err != nil {
		t.Fatalf("fetch the offsets of %s: %v", group, err)
	}
	o, ok := offsets.Lookup(topic, partition)
	if !ok {
		return -1
	}
	return o.At
}
