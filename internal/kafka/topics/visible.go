package topics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// visibleWithin bounds the wait for a created topic to be seen by every broker.
const visibleWithin = 30 * time.Second

// awaitVisible waits until the cluster is as wanted for the next client that asks,
// whichever broker it asks: creation is answered before every broker has heard of it.
func (s *Set) awaitVisible(ctx context.Context, cl *kgo.Client) error {
	ctx, cancel := context.WithTimeout(ctx, visibleWithin)
	defer cancel()
	for {
		err := s.Check(ctx, cl)
		if err == nil {
			err = s.knownByAll(ctx, cl)
		}
		var mismatch *MismatchError
		var behind *behindError
		if err == nil || !errors.As(err, &mismatch) && !errors.As(err, &behind) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// behindError is a broker that does not know all of the topics, or did not say.
type behindError struct {
	broker int32
	cause  error
}

func (e *behindError) Error() string {
	return fmt.Sprintf("broker %d does not know the topics yet: %v", e.broker, e.cause)
}

func (e *behindError) Unwrap() error { return e.cause }

// knownByAll asks every broker of the cluster for the topics. A broker that lacks one,
// or has fewer partitions of it, is a *behindError.
func (s *Set) knownByAll(ctx context.Context, cl *kgo.Client) error {
	desired := s.Desired()
	names := namesOf(desired)
	_, brokers, err := metadata(ctx, cl, names...)
	if err != nil {
		return err
	}
	for _, id := range brokers {
		known, _, err := metadata(ctx, cl.Broker(int(id)), names...)
		if err != nil {
			return &behindError{id, err}
		}
		for _, t := range desired {
			if known[t.Name].partitions < t.Partitions {
				return &behindError{id, fmt.Errorf("it has %d of %d partitions of %s", known[t.Name].partitions, t.Partitions, t.Name)}
			}
		}
	}
	return nil
}
