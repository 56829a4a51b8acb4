package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/policy"
	"github.com/heddle-run/heddle/shared/rows"
)

// Config is what a Planner needs to know besides the state.
type Config struct {
	Key       events.Key // seals the tokens of attempts
	Partition int32
	// Definitions resolves a name, name@version or digest to the canonical
	// form of a registered definition.
	Definitions func(ref string) (canonical []byte, ok bool)
	// MaxActive bounds the active attempts of one workflow whatever it asks for;
	// 0 means DefaultMaxActive.
	MaxActive int
}

// Limits of one workflow.
const (
	DefaultMaxActive = 1000
	maxWaiters       = 64   // clients waiting for one workflow to drain
	maxPastAttempts  = 20   // closed attempts that a runnable remembers in detail
	maxGraphs        = 1024 // compiled definitions and parsed rules kept at hand
	backstopMargin   = 1000 // ms that a taker has to report its own timeout
	maxQueryItems    = 1000
)

// Planner is the machine of workflows. It belongs to one goroutine.
type Planner struct {
	cfg    Config
	graphs map[string]*definition.Graph
	rules  map[string][]policy.Rule
}

var _ machine.Machine = (*Planner)(nil)

// New makes a planner.
func New(cfg Config) *Planner {
	if cfg.MaxActive <= 0 {
		cfg.MaxActive = DefaultMaxActive
	}
	return &Planner{cfg: cfg, graphs: map[string]*definition.Graph{}, rules: map[string][]policy.Rule{}}
}

// graph returns the compiled form of a pinned definition.
func (p *Planner) graph(tx *rows.Tx, digest string) *definition.Graph {
	if g := p.graphs[digest]; g != nil {
		return g
	}
	row := rows.Get[definitionRow](tx, definitionKey(digest))
	if row == nil {
		panic(fmt.Sprintf("definition %s is not pinned", digest))
	}
	d, err := definition.Parse(row.Canonical)
	if err != nil {
		panic(fmt.Sprintf("pinned definition %s: %v", digest, err))
	}
	g, err := definition.Compile(d)
	if err != nil {
		panic(fmt.Sprintf("pinned definition %s: %v", digest, err))
	}
	if len(p.graphs) >= maxGraphs {
		clear(p.graphs)
	}
	p.graphs[digest] = g
	return g
}

// parsedRules returns the rules that were given as raw, which was checked when
// it was accepted.
func (p *Planner) parsedRules(raw []byte) []policy.Rule {
	if len(raw) == 0 {
		return nil
	}
	if r, ok := p.rules[string(raw)]; ok {
		return r
	}
	r, err := policy.ParseRules(raw, "policies")
	if err != nil {
		panic(fmt.Sprintf("accepted policies: %v", err))
	}
	if len(p.rules) >= maxGraphs {
		clear(p.rules)
	}
	p.rules[string(raw)] = r
	return r
}
