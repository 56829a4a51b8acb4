package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Result is one run, as it is recorded: a line of JSON.
type Result struct {
	Driver      string      `json:"driver"`
	Workload    string      `json:"workload"`
	Concurrency int         `json:"c"`
	Repetition  int         `json:"rep"`
	At          time.Time   `json:"at"`
	Engine      Description `json:"engine"`
	Failed      string      `json:"failed,omitempty"` // why there are no figures

	WarmSeconds   float64 `json:"warm_s"`
	WindowSeconds float64 `json:"window_s"`
	Workflows     int     `json:"workflows"` // that ended in the window
	Errors        int     `json:"errors"`
	FirstError    string  `json:"first_error,omitempty"`

	WorkflowsPerSecond  float64 `json:"workflows_per_s"`
	StepsPerSecond      float64 `json:"steps_per_s"`           // those of workflows that ended
	ExecutionsPerSecond float64 `json:"step_executions_per_s"` // of stepBody: more than steps if an engine retries
	Latency             Latency `json:"latency_ms"`

	ServerCPUPerStep float64 `json:"server_cpu_ms_per_step"`
	ClientCPUPerStep float64 `json:"client_cpu_ms_per_step"` // worker and load generator
	ServerCores      float64 `json:"server_cores"`
	ClientCores      float64 `json:"client_cores"`
	ServerRSS        int64   `json:"server_rss_bytes"`
	ServerPeakRSS    int64   `json:"server_peak_rss_bytes"`
	ClientRSS        int64   `json:"client_rss_bytes"`

	StoredPerWorkflow  int64 `json:"stored_bytes_per_workflow"`        // by which the data files grew
	WALPerWorkflow     int64 `json:"wal_bytes_per_workflow,omitempty"` // PostgreSQL: WAL written
	WrittenPerWorkflow int64 `json:"device_bytes_per_workflow"`        // to the block device, by anybody

	OtherCores float64 `json:"other_cores"` // used by neither server nor client, and stolen by the hypervisor
	Noisy      bool    `json:"noisy"`       // OtherCores is more than noisyCores
}

// Latency is the time from the start request to the result, in milliseconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// newLatency sorts the times, of which there is at least one.
func newLatency(times []time.Duration) Latency {
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	quantile := func(q float64) float64 { return ms(times[min(len(times)-1, int(q*float64(len(times))))]) }
	var sum time.Duration
	for _, d := range times {
		sum += d
	}
	return Latency{P50: quantile(0.5), P90: quantile(0.9), P99: quantile(0.99), Max: quantile(1), Mean: ms(sum) / float64(len(times))}
}

// String is the line that is printed after a run.
func (r Result) String() string {
	head := fmt.Sprintf("%-18s %-13s c=%-4d rep %d ", r.Driver, r.Workload, r.Concurrency, r.Repetition)
	if r.Failed != "" {
		return head + "FAILED: " + r.Failed
	}
	line := head + fmt.Sprintf("%8.1f workflows/s  p50 %.1f ms  p99 %.1f ms  CPU %.3f + %.3f ms a step",
		r.WorkflowsPerSecond, r.Latency.P50, r.Latency.P99, r.ServerCPUPerStep, r.ClientCPUPerStep)
	if r.Noisy {
		line += fmt.Sprintf("  noisy: others used %.2f cores", r.OtherCores)
	}
	if r.Errors > 0 {
		line += fmt.Sprintf("  %d errors, the first: %s", r.Errors, r.FirstError)
	}
	return line
}

// record appends a run to a file.
func record(file string, r Result) (err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(append(line, '\n'))
	return err
}

// readResults reads the runs of a file.
func readResults(file string) ([]Result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Result
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var r Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, r)
	}
	return all, lines.Err()
}
