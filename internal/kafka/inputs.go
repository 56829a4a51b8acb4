package kafka

import "github.com/twmb/franz-go/pkg/kgo"

// NewLogReader makes a NewPartitionConsumer that also returns control records
// (Attrs.IsControl): a reader that compares its position with the end of a log must see
// that the last offsets of a log are the control records of transactions.
func NewLogReader(c Config) (*kgo.Client, error) {
	opts := append(consumeBase(),
		kgo.FetchMaxWait(partitionsWait),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepControlRecords())
	return c.client("reader", opts...)
}
