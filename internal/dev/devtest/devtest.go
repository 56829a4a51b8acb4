// Package devtest is a deployment for the examples of packages outside: one for all
// examples of a test's process, made when the first one needs it.
package devtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
)

var (
	mu      sync.Mutex
	running *dev.Dev
)

// Running is the deployment; Main stops it. It panics if none can be started, as an
// example has nobody to tell.
func Running() *dev.Dev {
	mu.Lock()
	defer mu.Unlock()
	if running != nil {
		return running
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := dev.Start(ctx, dev.Options{Memory: true, Partitions: 2, Queues: []string{"orders", "human"}})
	if err != nil {
		panic(fmt.Errorf("devtest: %w", err))
	}
	running = d
	return d
}

// Main runs a package's tests, and stops the deployment behind them. It is for TestMain.
func Main(m *testing.M) {
	code := m.Run()
	mu.Lock()
	defer mu.Unlock()
	if running != nil {
		if err := running.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "devtest:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}
