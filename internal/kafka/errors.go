package kafka

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// IsFenced reports that a newer client took the transactional id: the owner is
// deposed and stops at once.
func IsFenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}

// IsMembership reports that the group does not know this member at this
// generation (any more): the checkpoint is aborted and may be tried again.
func IsMembership(err error) bool {
	for _, e := range []error{
		kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress,
		kerr.StaleMemberEpoch, kerr.FencedMemberEpoch, kerr.FencedInstanceID, kerr.GroupIDNotFound,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// IsTooLarge reports that a record does not fit the broker's limit, which no
// retry avoids.
func IsTooLarge(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge)
}

// IsDataLoss reports that a log is not what it was: shorter, starting later, or
// without the records that this client had written to it. A producer gets it after StopProducerOnDataLossDetected stopped it for good.
func IsDataLoss(err error) bool {
	if _, ok := errors.AsType[*kgo.ErrDataLoss](err); ok {
		return true
	}
	return errors.Is(err, kerr.OffsetOutOfRange) ||
		errors.Is(err, kerr.OutOfOrderSequenceNumber) ||
		errors.Is(err, kerr.UnknownProducerID)
}

// IsRemade reports that a topic is not there any more as the client knows it: it
// was deleted, and perhaps made anew. No client takes another topic of the same
// name by itself: it has to be purged first.
func IsRemade(err error) bool {
	return errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.InconsistentTopicID)
}

// IsRetriable reports that the same request may succeed later: the cluster is
// away, busy, or moving. Fencing, membership, data loss and another topic never are.
func IsRetriable(err error) bool {
	if err == nil || IsFenced(err) || IsMembership(err) || IsDataLoss(err) || IsTooLarge(err) || IsRemade(err) {
		return false
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) {
		return false
	}
	if kerr.IsRetriable(err) || kgo.IsRetryableBrokerErr(err) || errors.Is(err, kerr.ConcurrentTransactions) {
		return true
	}
	if errors.Is(err, kgo.ErrRecordTimeout) || errors.Is(err, kgo.ErrRecordRetries) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)
}

// IsMissing reports that a topic or a partition is not there: not yet, where a
// deployment is being made, as the first moments of `heddle dev` are.
func IsMissing(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.LeaderNotAvailable)
}
