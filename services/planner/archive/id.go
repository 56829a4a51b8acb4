package archive

import (
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

// The parts of an ID of the store are parted by what no workflow's ID has.
const (
	separator        = "~"
	runPrefix        = "run" + separator
	definitionPrefix = "def" + separator
	placePrefix      = "place" + separator
)

// Run names a run. A workflow's ID has one run after the other, and another deployment may have runs under it of the
// same positions: Journal is the journal that this one is in.
type Run struct {
	Workflow string
	Start    events.RunID
	Journal  string // the first digits of its topic's id
}

// Name is how users write which of a workflow's runs is meant.
func (r Run) Name() string { return r.Start.String() + separator + r.Journal }

// RunID is the log of a run.
func RunID(r Run) string { return RunsOf(r.Workflow) + r.Name() }

// RunsOf is what the logs of a workflow's runs begin with; those of all begin with AllRuns.
func RunsOf(workflow string) string { return runPrefix + workflow + separator }

// AllRuns is what the logs of runs begin with.
const AllRuns = runPrefix

// DefinitionID is the log whose only entry is the canonical form of a definition.
func DefinitionID(digest string) string { return definitionPrefix + digest }

// PlaceID is the log whose snapshot says how far a partition of a journal is kept. Each archiver that
// takes the partition adds an entry, so that its epoch is its own.
func PlaceID(topic string, partition int32) string {
	return fmt.Sprintf("%s%s%s%d", placePrefix, topic, separator, partition)
}

// ParseRunID is the inverse of RunID.
func ParseRunID(id string) (Run, error) {
	parts := strings.Split(id, separator)
	if len(parts) != 4 || parts[0]+separator != runPrefix || parts[3] == "" {
		return Run{}, fmt.Errorf("%q is not the log of a run", id)
	}
	if err := events.CheckWorkflowID(parts[1]); err != nil {
		return Run{}, fmt.Errorf("the log %q: %w", id, err)
	}
	start, err := events.ParsePosition(parts[2])
	if err != nil {
		return Run{}, fmt.Errorf("the log %q: %w", id, err)
	}
	return Run{Workflow: parts[1], Start: start, Journal: parts[3]}, nil
}

// IsPlace reports whether a log says how far a partition is kept.
func IsPlace(id string) bool { return strings.HasPrefix(id, placePrefix) }
