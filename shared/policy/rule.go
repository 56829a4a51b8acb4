package policy

import (
	"cmp"
	"math/bits"
	"regexp"
	"slices"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
)

// Rule gives some fields of a policy to the components that it matches. Rules come from ParseRules and are immutable.
type Rule struct {
	Path string // where the rule stands, for errors

	name, task, queue pattern
	kinds             []Kind // nil = any
	expr              *expr.Program
	inherit           bool
	fields            fields
}

// Subject is what a rule matches.
type Subject struct {
	Name      string // of the component
	Kind      Kind
	Part      string // the name of the part that does its work, which rules may name too; empty: it has none
	PartKind  Kind   // of that part
	Evaluated bool   // by the planner itself: such kinds honour on_failure and some fallbacks only
	Task      string // empty but for a step
	Queue     string
	Input     []byte // JSON; looked at only by rules with an expression

	Account *expr.Account // of what those take; nil: nothing bounds them together
}

// pattern matches a text exactly or by regular expression; the zero pattern matches all.
type pattern struct {
	exact string
	re    *regexp.Regexp
}

func (p pattern) matches(s string) bool {
	switch {
	case p.re != nil:
		return p.re.MatchString(s)
	case p.exact != "":
		return p.exact == s
	}
	return true
}

// Fits reports whether every matcher but the expression holds.
func (r *Rule) Fits(s Subject) bool {
	return r.fitsKind(s) && (r.name.matches(s.Name) || s.Part != "" && r.name.matches(s.Part)) &&
		r.task.matches(s.Task) && r.queue.matches(s.Queue)
}

func (r *Rule) fitsKind(s Subject) bool {
	return r.kinds == nil || slices.Contains(r.kinds, s.Kind) || s.PartKind != 0 && slices.Contains(r.kinds, s.PartKind)
}

// Dynamic reports whether the rule looks at the input to decide.
func (r *Rule) Dynamic() bool { return r.expr != nil }

// ExactName is the component that the rule names directly; empty if it names none.
func (r *Rule) ExactName() string { return r.name.exact }

// Unused is about a field that the rule gives and that does nothing, as the rule lacks another one; false: there is none.
// A rule that inherits may get that from a later one. retried: what it is for is tried again without its word.
func (r *Rule) Unused(retried bool) (problem Error, is bool) {
	if r.inherit {
		return Error{}, false
	}
	for _, u := range [...]struct {
		fields given
		idle   bool
		lacks  string
		fix    string
	}{
		{backoff | baseDelay | maxDelay | retryIf | nonRetryable, r.fields.given&maxRetries == 0 && !retried, "without max_retries nothing is tried again", "give max_retries"},
		{baseDelay | maxDelay, r.fields.given&backoff == 0, "without backoff there is no wait", "give backoff: linear, exponential or jitter"},
	} {
		if some := r.fields.given & u.fields; some != 0 && u.idle {
			return Error{Path: r.Path + "." + table[bits.TrailingZeros32(uint32(some))].name, Message: "has no effect: " + u.lacks, Fix: u.fix}, true
		}
	}
	return Error{}, false
}

// Queue is the queue that the rule sends attempts to; empty if it does not say.
func (r *Rule) Queue() string {
	if r.fields.given&queue == 0 {
		return ""
	}
	return r.fields.values.Queue
}

// holds reports whether the rule's expression holds. One that cannot be evaluated does not.
func (r *Rule) holds(s Subject) bool {
	if r.expr == nil {
		return true
	}
	holds, err := r.expr.Holds(expr.Env{Name: s.Name, Kind: cmp.Or(s.PartKind, s.Kind).String(), Task: s.Task, Input: s.Input, Account: s.Account})
	return err == nil && holds
}

// fields are the fields of a policy with a note of which are given.
type fields struct {
	given  given
	values Policy
}

// fill sets the fields that f gives and have does not, and returns what is given now.
func (f *fields) fill(p *Policy, have given) given {
	for i := range table {
		if bit := given(1) << i; f.given&bit != 0 && have&bit == 0 {
			table[i].copy(p, &f.values)
		}
	}
	return have | f.given
}

// presets are named sets of fields.
var presets = map[string]fields{
	"llm": {maxRetries | backoff | baseDelay | maxDelay | timeout, Policy{
		MaxRetries: 3, Backoff: Exponential, BaseDelay: time.Second, MaxDelay: 30 * time.Second, Timeout: 30 * time.Second}},
	"io": {maxRetries | backoff | baseDelay | timeout | onFailure, Policy{
		MaxRetries: 2, Backoff: Linear, BaseDelay: 500 * time.Millisecond, Timeout: 10 * time.Second, OnFailure: Skip}},
	"fast_fail": {maxRetries | timeout, Policy{Timeout: 5 * time.Second}},
}
