// Command temporal-dev starts the server that the Temporal CLI v1.9.1 starts with
//
//	temporal server start-dev --headless --db-filename FILE --port PORT
//
// and the same options. go.mod says why it is not the CLI itself.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"github.com/temporalio/cli/internal/devserver"
	_ "modernc.org/sqlite" // the driver of the database
)

func main() {
	port := flag.Int("port", 7233, "port of the frontend, on loopback")
	file := flag.String("db-filename", "", "SQLite file")
	pragmas, dynamic := pairs{}, pairs{}
	flag.Var(pragmas, "sqlite-pragma", "KEY=VALUE, may be repeated")
	flag.Var(dynamic, "dynamic-config-value", "KEY=INTEGER, may be repeated")
	flag.Parse()
	if err := serve(*port, *file, pragmas, dynamic); err != nil {
		fmt.Fprintln(os.Stderr, "temporal-dev:", err)
		os.Exit(1)
	}
}

// serve runs the server until a signal ends it.
func serve(port int, file string, pragmas, dynamic pairs) error {
	if file == "" {
		return errors.New("-db-filename is missing: without a file nothing is durable")
	}
	// the CLI's own values
	values := map[string]any{
		"system.forceSearchAttributesCacheRefreshOnRead": true,
		"system.forceNexusEndpointRefreshOnRead":         true,
		"frontend.persistenceMaxQPS":                     10000,
		"history.persistenceMaxQPS":                      45000,
	}
	for key, text := range dynamic {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-dynamic-config-value %s: %w", key, err)
		}
		values[key] = n
	}
	s, err := devserver.Start(devserver.StartOptions{
		FrontendIP:             "127.0.0.1",
		FrontendPort:           port,
		Namespaces:             []string{"default"},
		Logger:                 slog.New(slog.NewTextHandler(os.Stderr, nil)),
		LogLevel:               slog.LevelWarn,
		DatabaseFile:           file,
		SqlitePragmas:          pragmas,
		MetricsPort:            devserver.MustGetFreePort("127.0.0.1"),
		ClusterID:              uuid.NewString(),
		MasterClusterName:      "active",
		CurrentClusterName:     "active",
		InitialFailoverVersion: 1,
		DynamicConfigValues:    values,
	})
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	<-signals
	s.SuppressWarnings()
	s.Stop()
	return nil
}

// pairs is a flag of the form KEY=VALUE that may be repeated.
type pairs map[string]string

// String implements flag.Value.
func (p pairs) String() string { return "" }

// Set implements flag.Value.
func (p pairs) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("want KEY=VALUE, have %q", text)
	}
	p[key] = value
	return nil
}
