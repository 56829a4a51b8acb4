package definition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// Options of a definition or a workflow. The zero value of a field means "not given": what stands above or the service's
// default holds.
type Options struct {
	MaxConcurrency int // active attempts
	Checkpoint     Checkpoint
	Close          Close
	Drain          *time.Duration // nil = not given
	OnFailure      *policy.OnFailure
	SignalTTL      *time.Duration // nil = not given
	KeepFacts      int            // the newest that are kept with what they belong to
	Retain         Retain
	Completion     *Completion // who is told that it has drained; nil = not given
	Labels         []Label     // sorted by name
}

// Checkpoint says when a workflow's changed keys are due for the changelog.
type Checkpoint struct {
	Strategy Strategy
	N        int // of EveryN
}

// Strategy says when a workflow is due in a checkpoint.
type Strategy uint8

// The strategies; 0 = not given. Values are recorded.
const (
	EveryCycle Strategy = 1
	EveryN     Strategy = 2
	OnComplete Strategy = 3
	Manual     Strategy = 4
)

// Close says when a workflow closes by itself.
type Close uint8

// The closings; 0 = not given. Values are recorded.
const (
	Never  Close = 1
	OnIdle Close = 2 // idle → completed
)

// Label is a label of a workflow: a literal text or an expression over the input.
type Label struct {
	Name    string
	Literal string
	Expr    *expr.Program // nil = Literal
}

// Of evaluates the label. A text is taken as it is; any other value as its JSON.
func (l Label) Of(env expr.Env) (string, error) {
	if l.Expr == nil {
		return l.Literal, nil
	}
	v, err := l.Expr.Value(env)
	if err != nil {
		return "", fmt.Errorf("label %s: %w", l.Name, err)
	}
	return labelText(l.Name, v)
}

// MaxLabel is the longest value of a label, in bytes.
const MaxLabel = 256

func labelText(name string, v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		b, err := expr.Append(nil, v)
		if err != nil {
			return "", fmt.Errorf("label %s: %w", name, err)
		}
		s = string(b)
	}
	if len(s) > MaxLabel {
		return "", fmt.Errorf("label %s: the value is longer than %d bytes", name, MaxLabel)
	}
	return s, nil
}

// Over lays the options of a workflow over those of its definition. Labels of both hold, the workflow's winning.
func (o Options) Over(base Options) Options {
	if o.MaxConcurrency == 0 {
		o.MaxConcurrency = base.MaxConcurrency
	}
	if o.Checkpoint.Strategy == 0 {
		o.Checkpoint = base.Checkpoint
	}
	if o.Close == 0 {
		o.Close = base.Close
	}
	if o.Drain == nil {
		o.Drain = base.Drain
	}
	if o.OnFailure == nil {
		o.OnFailure = base.OnFailure
	}
	if o.SignalTTL == nil {
		o.SignalTTL = base.SignalTTL
	}
	if o.KeepFacts == 0 {
		o.KeepFacts = base.KeepFacts
	}
	o.Retain = o.Retain.Over(base.Retain)
	if o.Completion == nil {
		o.Completion = base.Completion
	}
	for _, l := range base.Labels {
		if !slices.ContainsFunc(o.Labels, func(own Label) bool { return own.Name == l.Name }) {
			o.Labels = append(slices.Clip(o.Labels), l)
		}
	}
	slices.SortFunc(o.Labels, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return o
}
