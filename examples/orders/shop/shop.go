package shop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/heddle-run/heddle/sdk/task"
)

// reviewLimit is above what a reviewer approves, in cents.
const reviewLimit = 500_000

// Shop serves the tasks. It remembers its payments, as a payment provider
// would: by idempotency key, so that a repeated attempt charges nobody twice.
type Shop struct {
	mu       sync.Mutex
	payments map[string]Payment // by idempotency key
	repeated int
}

// New is a shop that has taken no payment yet.
func New() *Shop { return &Shop{payments: map[string]Payment{}} }

// Payments is how often each order was charged.
func (s *Shop) Payments() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	times := map[string]int{}
	for _, p := range s.payments {
		times[p.Order]++
	}
	return times
}

// Repeated is how many attempts asked for a payment that was taken before.
func (s *Shop) Repeated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repeated
}

// work takes the time that a real service would; it ends early when the attempt
// is to stop.
func work(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func validate(ctx context.Context, o Order) (Order, error) {
	for _, line := range o.Lines {
		if strings.TrimSpace(line.SKU) == "" {
			return Order{}, &task.Error{Type: "invalid_order", Message: "order " + o.ID + " has a line without a SKU", NonRetryable: true}
		}
	}
	return o, work(ctx, 20*time.Millisecond)
}

func review(ctx context.Context, in Invoice) (Approval, error) {
	if err := work(ctx, 400*time.Millisecond); err != nil {
		return Approval{}, err
	}
	if in.Total > reviewLimit {
		return Approval{Reason: "nobody weaves that much"}, nil
	}
	return Approval{Approved: true, Reason: "a regular customer"}, nil
}

func (s *Shop) charge(ctx context.Context, in Invoice) (Payment, error) {
	if err := work(ctx, 60*time.Millisecond); err != nil {
		return Payment{}, err
	}
	p := Payment{Order: in.Order.ID, Cents: in.Total}
	switch {
	case in.Review != nil && !in.Review.Approved:
		p.Reason = in.Review.Reason
		return p, nil
	case strings.HasPrefix(in.Order.Card, "0000"):
		p.Reason = "the card was declined"
		return p, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := task.IdempotencyKey(ctx)
	if taken, ok := s.payments[key]; ok {
		s.repeated++
		return taken, nil
	}
	p.Paid, p.Number = true, fmt.Sprintf("PAY-%d", len(s.payments)+1)
	s.payments[key] = p
	return p, nil
}

func wrap(ctx context.Context, _ Paid) (Wrapping, error) {
	return Wrapping{Paper: "herringbone"}, work(ctx, 150*time.Millisecond)
}

var errPoints = errors.New("the points programme is closed for the night")

func points(ctx context.Context, in Paid) (Credit, error) {
	if in.Order.Simulate.PointsFail {
		return Credit{}, &task.Error{Type: "closed", Err: errPoints}
	}
	return Credit{Points: in.Payment.Cents / 100}, work(ctx, 30*time.Millisecond)
}

func confirm(ctx context.Context, in Shipment) (Outcome, error) {
	message := fmt.Sprintf("%s, your parcel is %s", in.Order.Customer, in.Label.Tracking)
	if in.Gift != nil {
		message += ", wrapped in " + in.Gift.Paper
	}
	if in.Points != nil {
		message += fmt.Sprintf(", and you earned %d points", in.Points.Points)
	}
	return Outcome{Order: in.Order.ID, Outcome: "shipped", Cents: in.Payment.Cents, Message: message}, work(ctx, 30*time.Millisecond)
}

func sorry(ctx context.Context, p Payment) (Outcome, error) {
	return Outcome{Order: p.Order, Outcome: "declined", Cents: p.Cents, Message: "sorry: " + p.Reason}, work(ctx, 30*time.Millisecond)
}
