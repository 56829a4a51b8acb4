package partition

import (
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/machine"
)

// What could not be sent when it was released is sent later only if the lease
// has its margin then.
func TestE5WhatIsSentLaterWaitsForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.log.Produce(&loop.Outgoing{Kind: machine.CancelEffect, Key: "w", Value: []byte("1")})
		d.answer(kerr.TopicAuthorizationFailed)
		d.linger()
		d.settle()
		if n := len(d.broker.waiting); n > 0 {
			t.Errorf("%d were sent at the margin of the lease", n)
		}
		d.renew()
		d.answer(nil)
	})
}
