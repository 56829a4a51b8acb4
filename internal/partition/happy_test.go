package partition_test

import (
	"context"
	"testing"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

func TestCommandsBecomeRecordsAndEffects(t *testing.T) {
	r := newRig(t, brokertest.Start(t, topics.Options{}))
	h := r.host("a")
	defer h.Close()
	o := h.Own(context.Background(), r.partitionOf("w"))
	defer o.Lose()
	r.adder()
	if got := r.do("w", "start", `{"definition":"counter"}`); got.Result != "done" {
		t.Fatalf("start: %+v", got)
	}
	for range 10 {
		r.do("w", "input", `{"input": 7}`)
	}
	if sum := r.settled("w"); sum != 70 {
		t.Errorf("sum is %d, want 70", sum)
	}
}
