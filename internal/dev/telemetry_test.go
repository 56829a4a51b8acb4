package dev_test

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
)

func metricsOf(t *testing.T, ctx context.Context, d *dev.Dev) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// documented are the metrics of docs/telemetry.md with what it says of them.
func documented(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/telemetry.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(heddle_[a-z_]+)` \\|.*\\| (.+) \\|$").FindAllStringSubmatch(string(page), -1) {
		if _, twice := all[m[1]]; twice {
			t.Errorf("docs/telemetry.md has %s twice", m[1])
		}
		all[m[1]] = m[2]
	}
	return all
}

// TestTheMetricsOfTheDocsAreThoseOfTheCode holds the page against every name and help in the
// services' sources, those included that a short run does not come to show.
func TestTheMetricsOfTheDocsAreThoseOfTheCode(t *testing.T) {
	docs, code := documented(t), map[string]string{}
	named := regexp.MustCompile(`"(heddle_(?:planner|executor|gateway|readiness|archiver)_[a-z_]+)",\s*(?:Help:\s*)?"([^"]*)"`)
	mentioned := regexp.MustCompile(`"heddle_(?:planner|executor|gateway|readiness|archiver)_`)
	err := filepath.WalkDir(filepath.FromSlash("../../services"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		all := named.FindAllStringSubmatch(string(src), -1)
		if n := len(mentioned.FindAll(src, -1)); n != len(all) {
			t.Errorf("%s mentions %d metrics; %d of them have their whole name and then their help, as literals", path, n, len(all))
		}
		for _, m := range all {
			code[m[1]] = m[2]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, help := range code {
		if docs[name] != help {
			t.Errorf("docs/telemetry.md says of %s: %q; the code: %q", name, docs[name], help)
		}
	}
	for name := range docs {
		if _, ok := code[name]; !ok {
			t.Errorf("docs/telemetry.md has %s, which no service has", name)
		}
	}
}

func TestTheGatewayShowsTheMetricsOfAllServices(t *testing.T) {
	ctx := within(t)
	d := start(t, ctx, dev.Options{Partitions: 1, Memory: true})
	defer stop(t, d)
	c := connect(t, d)
	const once = `{"name": "once", "version": "1", "components": {"echo": {"step": "test.echo"}}, "outputs": {"echo": "echo"}, "options": {"close": "on_idle"}}`
	if _, err := c.Define(ctx, "once", []byte(once)); err != nil {
		t.Fatal(err)
	}
	run, err := c.Start(ctx, "once", 1, client.StartOptions{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	body, docs := metricsOf(t, ctx, d), documented(t)
	for _, line := range []string{
		`heddle_planner_workflows_total{definition="once",event="started"} 1`,
		`heddle_planner_workflows_total{definition="once",event="completed"} 1`,
		`heddle_planner_workflow_seconds_count{definition="once",event="completed"} 1`,
		`heddle_planner_attempts_total{event="started",queue="default"} 1`,
		`heddle_planner_attempts_total{event="completed",queue="default"} 1`,
		`heddle_planner_attempt_seconds_count{event="completed",queue="default"} 1`,
		`heddle_planner_store_disk_bytes{partition="0"} `, "heddle_planner_store_saves_total ",
		"heddle_executor_", "heddle_archiver_", "heddle_gateway_", "heddle_readiness_", "go_goroutines",
	} {
		if !strings.Contains(body, "\n"+line) {
			t.Errorf("/metrics has no %s…", line)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (heddle_\S+) `).FindAllStringSubmatch(body, -1) {
		if _, ok := docs[m[1]]; !ok {
			t.Errorf("/metrics has %s, docs/telemetry.md has not", m[1])
		}
	}
}
