package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/internal/bench"
)

// setting is what is measured: one line of the table.
type setting struct {
	archive  string // default or none
	workload string
	clients  int
}

var workloads = []string{"chain10:1", "chain10:128", "chain10:512", "fanout100:16", "single:512"}

// settings are the lines of the table, in order.
func (o *options) settings() ([]setting, error) {
	if o.Turns < 1 {
		return nil, fmt.Errorf("--turns: want at least 1, got %d", o.Turns)
	}
	chosen := o.Workload
	if len(chosen) == 0 {
		chosen = workloads
	}
	var all []setting
	for _, archive := range o.Archive {
		for _, text := range chosen {
			name, clients, _ := strings.Cut(text, ":")
			n, err := strconv.Atoi(clients)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("--workload: want a name and a number of clients, as chain10:128, got %q", text)
			}
			if _, err := bench.Find(name); err != nil {
				return nil, fmt.Errorf("--workload: %w", err)
			}
			all = append(all, setting{archive, name, n})
		}
	}
	return all, nil
}
