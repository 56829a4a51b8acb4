//go:build integration

package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What all tests share, set by TestMain.
var (
	brokers string // of the cluster
	binary  string // the heddle binary under test
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 2*startLimit)
	defer cancel()
	if err := dockerAnswers(ctx); err != nil && os.Getenv("HEDDLE_KAFKA_BROKERS") == "" {
		fmt.Fprintln(os.Stderr, "NO DOCKER ENGINE: the integration tests need one and did not run:", err)
		if os.Getenv("CI") == "true" {
			return 1
		}
		return 0
	}
	dir, err := os.MkdirTemp("", "heddle-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	stop, err := startKafka(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting Kafka:", err)
		return 1
	}
	defer stop()
	defer func() {
		if err := theThree.end(); err != nil {
			fmt.Fprintln(os.Stderr, "removing the cluster of three:", err)
		}
	}()
	if binary, err = build(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build makes the binary that the tests run.
func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "heddle")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/heddle-run/heddle/cmd/heddle").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building heddle: %w\n%s", err, out)
	}
	return path, nil
}
