package broker_test

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
)

// initialize asks for a producer id of the transactional id "txn".
func initialize(t *testing.T, admin *kgo.Client, id int64, epoch int16) *kmsg.InitProducerIDResponse {
	t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID = kmsg.StringPtr("txn")
	req.TransactionTimeoutMillis = 10_000
	req.ProducerID, req.ProducerEpoch = id, epoch
	resp, err := req.RequestWith(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestADeposedProducerCannotRecoverItsFence(t *testing.T) {
	c := brokertest.Start(t, few)
	admin := c.Admin(t)
	old := initialize(t, admin, -1, -1)
	lawful := initialize(t, admin, -1, -1)
	if lawful.ErrorCode != 0 || lawful.ProducerEpoch <= old.ProducerEpoch {
		t.Fatalf("the second fence: %+v after %+v", lawful, old)
	}
	again := initialize(t, admin, old.ProducerID, old.ProducerEpoch)
	if err := kerr.ErrorForCode(again.ErrorCode); !errors.Is(err, kerr.ProducerFenced) {
		t.Errorf("the deposed producer's recovery: %v, want it fenced", err)
	}
}

// A producer that was deposed within a transaction and gives it up is told that it
// is deposed. It is not given the epoch of its successor, to write with.
func TestADeposedProducerThatAbortsIsFenced(t *testing.T) {
	c := brokertest.Start(t, few)
	topic := c.Topics.Journal()
	old := transaction(t, c)
	if err := old.ProduceSync(t.Context(), kafka.Placed(topic, 0, nil, []byte("void"))).FirstErr(); err != nil {
		t.Fatal(err)
	}
	lawful := initialize(t, c.Admin(t), -1, -1)
	err := old.EndTransaction(t.Context(), kgo.TryAbort)
	if id, epoch, _ := old.ProducerID(t.Context()); id == lawful.ProducerID && epoch >= lawful.ProducerEpoch {
		t.Errorf("the deposed producer goes on at epoch %d, its successor has %d", epoch, lawful.ProducerEpoch)
	}
	if !kafka.IsFenced(err) {
		t.Errorf("its abort: %v, want it fenced", err)
	}
}
