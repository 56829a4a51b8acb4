package archive

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/search"
)

// Names of the labels by which runs are found; those of the workflow stand behind labelOf.
const (
	LabelStatus     = "status"
	LabelDefinition = "definition"
	LabelOver       = "over"  // true: nothing follows
	LabelLacks      = "lacks" // true: the beginning is missing
	labelOf         = "label."
)

// mostLabel is how many bytes the name or the value of a label may have, within the limits of stores.
const mostLabel = 500

// Snapshot is what a run's log comes to, in short.
type Snapshot struct {
	Summary json.RawMessage `json:"summary"`           // as of the last entry where Whole, else as far as it is known
	Results json.RawMessage `json:"results,omitempty"` // of a run that is over or at rest
	Whole   bool            `json:"whole"`             // the summary and the results are a planner's
	Lacks   bool            `json:"lacks,omitempty"`   // the log's beginning was in no journal any more: it has no history of it
	Over    bool            `json:"over"`
	Deleted bool            `json:"deleted,omitempty"` // the deployment has it no more
	Why     string          `json:"why,omitempty"`     // it is not Whole though it is over
}

// Encode is the snapshot as the store keeps it.
func (s *Snapshot) Encode() ([]byte, error) { return json.Marshal(s) }

// ParseSnapshot is the inverse of Encode.
func ParseSnapshot(b []byte) (*Snapshot, error) {
	var s Snapshot
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("the snapshot of an archived run: %w", err)
	}
	return &s, nil
}

// Labels are those by which the store finds the run. A label of the workflow that no store takes is
// left out: it is in the summary.
func (s *Snapshot) Labels(sum *events.Summary) map[string]string {
	all := map[string]string{LabelStatus: sum.Status, LabelOver: strconv.FormatBool(s.Over)}
	if n := sum.Definition.Name; n != "" && len(n) <= mostLabel {
		all[LabelDefinition] = n
	}
	if s.Lacks {
		all[LabelLacks] = "true"
	}
	labels := LabelsOf(sum)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if v := labels[name]; indexed(name, v) {
			all[labelOf+name] = v
		}
	}
	return all
}

// indexed reports whether a workflow's label may be one of the store's.
func indexed(name, value string) bool {
	if len(labelOf)+len(name) > mostLabel || len(value) > mostLabel {
		return false
	}
	for _, text := range []string{name, value} {
		for _, r := range text {
			if r == 0 || r == '\ufffd' {
				return false
			}
		}
	}
	return true
}

// Narrowed are the labels that a store is asked for, for what a filter wants: every run that the filter chooses has them.
func Narrowed(f search.Filter) map[string]string {
	all := map[string]string{}
	if f.Status != "" {
		all[LabelStatus] = f.Status
	}
	if name, _, _ := search.SplitDefinition(f.Definition); name != "" && len(name) <= mostLabel {
		all[LabelDefinition] = name
	}
	for name, value := range f.Labels { // order: into a map
		if len(all) < 8 && indexed(name, value) {
			all[labelOf+name] = value
		}
	}
	return all
}

// LabelsOf are a workflow's labels as filters compare them: texts as they are, all else as JSON.
func LabelsOf(sum *events.Summary) map[string]string {
	var raw map[string]json.RawMessage
	if len(sum.Labels) == 0 || json.Unmarshal(sum.Labels, &raw) != nil {
		return nil
	}
	all := make(map[string]string, len(raw))
	for name, v := range raw { // order: into a map
		var text string
		if json.Unmarshal(v, &text) != nil {
			text = string(v)
		}
		all[name] = text
	}
	return all
}

// Searched is what a filter looks at of a run.
func Searched(sum *events.Summary) search.Workflow {
	w := search.Workflow{
		ID: sum.ID, Status: sum.Status, Name: sum.Definition.Name, Version: sum.Definition.Version, Digest: sum.Definition.Digest,
		Labels: LabelsOf(sum), Created: time.UnixMilli(int64(sum.Created)), Updated: time.UnixMilli(int64(sum.Updated)),
	}
	if f := sum.Failure; f != nil {
		w.Failures = append(w.Failures, search.Failure{Component: f.Component, Type: f.Error.Type, Message: f.Error.Message})
	}
	if c := sum.ConditionErrors; c != nil {
		for _, f := range c.First {
			w.Failures = append(w.Failures, search.Failure{Component: f.Component, Type: f.Error.Type, Message: f.Error.Message})
		}
	}
	return w
}

// Known is the summary of a run as far as its records say it without being folded: of one that is not over.
func (l *Log) Known(partition int32) events.Summary {
	s := events.Summary{ID: l.Workflow, Run: l.Run, Status: l.Status, Partition: partition, Created: events.Stamp(l.Created), Updated: events.Stamp(l.Updated), Position: l.Through()}
	if l.Started != nil {
		s.Definition, s.Labels = l.Started.Definition, l.Started.Labels
	}
	return s
}
