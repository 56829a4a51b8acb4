package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// IsUnauthorized reports that the cluster knows this client and does not let it do
// what it asked for, until an operator grants it.
func IsUnauthorized(err error) bool {
	return errors.Is(err, kerr.ClusterAuthorizationFailed) || errors.Is(err, kerr.TopicAuthorizationFailed) ||
		errors.Is(err, kerr.GroupAuthorizationFailed) || errors.Is(err, kerr.TransactionalIDAuthorizationFailed)
}

const (
	// A cluster that has just begun gives no ids for a while, and a connection may break.
	idPatience = 10 * time.Second
	idPause    = 100 * time.Millisecond
)

// MayWrite asks whether the cluster gives this client's user the id of a producer,
// which it does for a client that may write any topic. Ask before a producer is used: kgo keeps
// the refusal of a producer's first id, and fails all that is produced from then on,
// also when the right is granted later.
func MayWrite(ctx context.Context, cl *kgo.Client) error {
	var since time.Time // of the first failure, which kgo has waited for
	for {
		err := askID(ctx, cl)
		if since.IsZero() {
			since = time.Now()
		}
		switch {
		case err == nil:
			return nil
		case IsUnauthorized(err):
			return fmt.Errorf("ask for the id of a producer: %w; the user of this process needs the right to write its topics (ACL Write)", err)
		case isVerdict(err) || time.Since(since) >= idPatience:
			return fmt.Errorf("ask for the id of a producer: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ask for the id of a producer: %w", err)
		case <-time.After(idPause):
		}
	}
}

// isVerdict says of a failure that asking again changes nothing.
func isVerdict(err error) bool {
	if _, answered := errors.AsType[*kerr.Error](err); answered {
		return !kerr.IsRetriable(err)
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed)
}

func askID(ctx context.Context, cl *kgo.Client) error {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.ProducerID, req.ProducerEpoch = -1, -1
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}
