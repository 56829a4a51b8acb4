package workload

import (
	"context"
	"time"
)

// Pause lets time pass; it returns the error of ctx if that ends before.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
