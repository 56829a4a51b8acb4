package workload

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
)

// CommandID names the command of a record, whatever its id is of.
func CommandID(k *kgo.Record) string {
	var id, source string
	for _, h := range k.Headers {
		switch h.Key {
		case events.HeaderID:
			id = string(h.Value)
		case events.HeaderSource:
			source = string(h.Value)
		}
	}
	return string(k.Key) + "\x00" + source + "\x00" + id
}

// CheckCommands holds that every command that the topic took, and that can be
// understood, is decided by exactly one record.
func CheckCommands(sent map[string]bool, journals [][]*events.Record) error {
	decided := map[string]int{}
	for _, records := range journals {
		for _, rec := range records {
			switch rec.Events[0].(type) {
			case *events.InputRejected, *events.InputForwarded:
				continue
			}
			if _, operators := events.PartitionOf(rec.Workflow); rec.Input.Source == events.FromCommands && !operators {
				decided[rec.Workflow+"\x00"+rec.ID]++
			}
		}
	}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(sent)) {
		if n := decided[id]; n != 1 {
			errs = append(errs, fmt.Errorf("the command %q has %d records", strings.ReplaceAll(id, "\x00", " "), n))
		}
		delete(decided, id)
	}
	for _, id := range slices.Sorted(maps.Keys(decided)) {
		errs = append(errs, fmt.Errorf("nobody sent %q", strings.ReplaceAll(id, "\x00", " ")))
	}
	return errors.Join(errs...)
}
