package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// exclusive runs a function while the broker serves nobody. kfake's one
// goroutine waits for a control function to answer a request, and serves only
// administration in the meantime; so a request of our own, of a kind that we
// do not otherwise use, opens the gate.
type exclusive struct {
	mu   sync.Mutex // one caller at a time
	task chan func() error
	done chan error
}

const gateKey = kmsg.DescribeUserSCRAMCredentials

func (x *exclusive) install(c *kfake.Cluster) {
	x.task = make(chan func() error, 1)
	x.done = make(chan error, 1)
	c.ControlKey(gateKey.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		select {
		case task := <-x.task:
			x.done <- task()
		default: // somebody else's request
		}
		return nil, nil, false
	})
}

// exclusively runs fn while the broker handles no request and appends nothing.
// fn may call the cluster's administration, and should be quick.
func (b *Broker) exclusively(ctx context.Context, fn func() error) error {
	b.exclusive.mu.Lock()
	defer b.exclusive.mu.Unlock()
	b.exclusive.task <- fn
	_, err := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest().RequestWith(ctx, b.client)
	select {
	case <-b.exclusive.task: // it never got there
		return fmt.Errorf("reach the embedded broker: %w", err)
	case err := <-b.exclusive.done:
		return err
	}
}

// newClient reaches the broker the way everybody does.
func (b *Broker) newClient() (*kgo.Client, error) {
	dial := b.limits.dial
	if b.opts.Network != nil {
		dial = b.opts.Network.DialContext
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(b.addr),
		kgo.Dialer(dial),
		kgo.DisableClientMetrics(),
		kgo.RetryTimeout(10 * time.Second),
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("reach the embedded broker: %w", err)
	}
	return cl, nil
}
