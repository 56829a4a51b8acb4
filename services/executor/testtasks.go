package executor

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
)

// errorTest is the type of failures that were asked for.
const errorTest = "test_failure"

// testTasks are for trying out definitions and policies.
func testTasks() map[string]worker.Handler {
	return map[string]worker.Handler{
		"test.echo":  worker.HandlerFunc(testEcho),
		"test.sleep": worker.HandlerFunc(testSleep),
		"test.fail":  worker.HandlerFunc(testFail),
		"test.flaky": worker.HandlerFunc(testFlaky),
	}
}

// testEcho returns its input.
func testEcho(_ context.Context, a *worker.Attempt) (json.RawMessage, error) {
	return a.Spec.Input, nil
}

// testSleep {ms} returns its input after a time.
func testSleep(ctx context.Context, a *worker.Attempt) (json.RawMessage, error) {
	var p struct {
		Ms int64 `json:"ms"`
	}
	if err := parameters(a, &p); err != nil {
		return nil, err
	}
	if p.Ms < 0 || p.Ms > math.MaxInt64/int64(time.Millisecond) {
		return nil, refuse(events.ErrorInvalidInput, "test.sleep: ms is %d", p.Ms)
	}
	timer := time.NewTimer(time.Duration(p.Ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return a.Spec.Input, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// testFail {n, then} fails the first n attempts of a runnable, then returns
// then, or its input.
func testFail(_ context.Context, a *worker.Attempt) (json.RawMessage, error) {
	var p struct {
		N    uint32          `json:"n"`
		Then json.RawMessage `json:"then"`
	}
	if err := parameters(a, &p); err != nil {
		return nil, err
	}
	if a.Spec.Attempt <= p.N {
		return nil, &worker.TaskError{Type: errorTest, Message: fmt.Sprintf("attempt %d of %d that fail", a.Spec.Attempt, p.N)}
	}
	if len(p.Then) > 0 {
		return p.Then, nil
	}
	return a.Spec.Input, nil
}

// testFlaky {rate} fails that share of all attempts and returns its input
// otherwise. Which ones fail depends on the runnable and the attempt only.
func testFlaky(_ context.Context, a *worker.Attempt) (json.RawMessage, error) {
	var p struct {
		Rate float64 `json:"rate"`
	}
	if err := parameters(a, &p); err != nil {
		return nil, err
	}
	if p.Rate < 0 || p.Rate > 1 {
		return nil, refuse(events.ErrorInvalidInput, "test.flaky: rate is %v, not from 0 to 1", p.Rate)
	}
	h := fnv.New64a()
	h.Write([]byte(a.Spec.IdempotencyKey))
	h.Write(binary.BigEndian.AppendUint32(nil, a.Spec.Attempt))
	if share := float64(mix(h.Sum64())) / math.MaxUint64; share < p.Rate {
		return nil, &worker.TaskError{Type: errorTest, Message: fmt.Sprintf("attempt %d failed, as a share of %v does", a.Spec.Attempt, p.Rate)}
	}
	return a.Spec.Input, nil
}

// mix spreads a hash over all bits (the finalizer of splitmix64): FNV's high
// bits hardly depend on the last bytes.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
