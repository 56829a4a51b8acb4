package kafka

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ByKey in a record's Partition asks the effects producer to place the record
// by the hash of its key.
const ByKey int32 = -1

// PartitionFor is the partition of a key among n, as Kafka's own clients place
// it: murmur2 of the key, without its sign bit, modulo n.
func PartitionFor(key []byte, n int32) int32 {
	return int32(murmur2(key)&0x7fffffff) % n
}

// murmur2 is the hash of Kafka's Java clients, seed included.
func murmur2(b []byte) uint32 {
	const (
		seed uint32 = 0x9747b28c
		m    uint32 = 0x5bd1e995
		r           = 24
	)
	h := seed ^ uint32(len(b))
	for len(b) >= 4 {
		k := binary.LittleEndian.Uint32(b) * m
		k ^= k >> r
		h = h*m ^ k*m
		b = b[4:]
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}

// keyOrPlace places a record where its Partition says, or by its key.
type keyOrPlace struct{}

func (keyOrPlace) ForTopic(string) kgo.TopicPartitioner { return keyOrPlace{} }

// RequiresConsistency keeps kgo from choosing among the writable partitions
// only: a key belongs to one partition, writable or not.
func (keyOrPlace) RequiresConsistency(*kgo.Record) bool { return true }

func (keyOrPlace) Partition(r *kgo.Record, n int) int {
	if r.Partition == ByKey {
		return int(PartitionFor(r.Key, int32(n)))
	}
	return int(r.Partition)
}
