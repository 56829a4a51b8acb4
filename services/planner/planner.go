package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
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
	// Retain is how long workflows at rest are kept that do not say so themselves; the zero
	// value keeps them for ever.
	Retain definition.Retain
	// Archive says that runs are kept outside Kafka: none is deleted by its age before the
	// archiver has reported that it has it.
	Archive bool
	// Pools are the names of the runner pools that run the attempts of queues, by queue; what is not
	// listed is run by the workers of its queue.
	Pools map[string]string
	// Shards are how many shards pools have, by their names; those that are not listed have one.
	Shards map[string]int
	// Prefix is what the topics of the deployment begin with: nothing is emitted into
	// these. Empty: none is known.
	Prefix string
	// Budget bounds each decision; zero fields take the defaults.
	Budget machine.Budget
}

// Limits of one workflow.
const (
	DefaultMaxActive = 1000
	maxWaiters       = 64       // clients waiting for one workflow to drain
	maxPastAttempts  = 20       // closed attempts that a runnable remembers in detail
	maxGraphs        = 256      // compiled definitions and parsed rules kept at hand
	maxRemembered    = 64 << 10 // bytes of a source that is kept as a key of them
	BackstopMargin   = 1000     // ms that a worker has to report its own timeout
	maxQueryItems    = 1000
	maxQueryLooks    = 20_000 // rows that one query looks at
)

// Planner is the machine of workflows. It belongs to one goroutine.
type Planner struct {
	cfg      Config
	sealer   *events.Sealer
	graphs   map[string]*definition.Graph // by digest
	compiled map[string]compiled          // by source, as starts bring it
	rules    map[string][]policy.Rule     // by source
	programs map[programOf]*expr.Program  // of policies
	options  map[optionsOf]options
	turn     turn

	account expr.Account // the value that was decoded last, while something is in hand

	effects []machine.Effect // of the last record; reused
	task    events.Task      // the last one made; reused
}

// compiled is a definition with its canonical form.
type compiled struct {
	canonical []byte
	graph     *definition.Graph
}

var _ machine.Machine = (*Planner)(nil)

// New makes a planner.
func New(cfg Config) *Planner {
	if cfg.MaxActive <= 0 {
		cfg.MaxActive = DefaultMaxActive
	}
	cfg.Budget = cfg.Budget.Complete()
	p := &Planner{
		cfg:      cfg,
		sealer:   events.NewSealer(cfg.Key),
		graphs:   map[string]*definition.Graph{},
		compiled: map[string]compiled{},
		rules:    map[string][]policy.Rule{},
		programs: map[programOf]*expr.Program{},
		options:  map[optionsOf]options{},
	}
	p.turn.bind(p)
	return p
}

// pinned reports whether a definition is there for the runs that need it.
func (p *Planner) pinned(tx *rows.Tx, digest string) bool {
	return p.graphs[digest] != nil || rows.Get[definitionRow](tx, definitionKey(digest)) != nil
}

// graph returns the compiled form of a pinned definition.
func (p *Planner) graph(tx *rows.Tx, digest string) *definition.Graph {
	if g := p.graphs[digest]; g != nil {
		return g
	}
	c, err := p.compile(pinnedSource(tx, digest))
	if err != nil {
		panic(fmt.Sprintf("pinned definition %s: %v", digest, err))
	}
	p.keep(digest, c.graph)
	return c.graph
}

// graphOf returns the compiled form of the definition that a run is pinned to.
func (p *Planner) graphOf(tx *rows.Tx, set *setup) *definition.Graph {
	n := set.Numbering
	if n == nil {
		return p.graph(tx, set.Digest)
	}
	if g := p.graphs[set.graphKey()]; g != nil {
		return g
	}
	g := numbered(pinnedSource(tx, set.Digest), n.names())
	p.keep(set.graphKey(), g)
	return g
}

// pinnedSource is the canonical form of a pinned definition.
func pinnedSource(tx *rows.Tx, digest string) []byte {
	row := rows.Get[definitionRow](tx, definitionKey(digest))
	if row == nil {
		panic(fmt.Sprintf("definition %s is not pinned", digest))
	}
	return row.Canonical
}

// numbered compiles a definition that was compiled before, with the numbers that names have in a run.
func numbered(canonical []byte, names definition.Numbering) *definition.Graph {
	d, err := definition.Parse(canonical)
	if err != nil {
		panic(fmt.Sprintf("a definition that was compiled: %v", err))
	}
	g, err := definition.CompileAs(d, names)
	if err != nil {
		panic(fmt.Sprintf("a definition that was compiled: %v", err))
	}
	return g
}

// keep keeps a compiled definition at hand.
func (p *Planner) keep(key string, g *definition.Graph) {
	if len(p.graphs) >= maxGraphs {
		clear(p.graphs)
	}
	p.graphs[key] = g
}

// compile parses and compiles a definition, or remembers that it did.
func (p *Planner) compile(src []byte) (compiled, error) {
	if c, ok := p.compiled[string(src)]; ok {
		return c, nil
	}
	d, err := definition.Parse(src)
	if err != nil {
		return compiled{}, err
	}
	g := p.graphs[d.Digest]
	if g == nil {
		if g, err = definition.Compile(d); err != nil {
			return compiled{}, err
		}
	}
	c := compiled{d.Canonical(), g}
	if len(src) <= maxRemembered {
		if len(p.compiled) >= maxGraphs {
			clear(p.compiled)
		}
		p.compiled[string(src)] = c
	}
	return c, nil
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

// programOf is the expression of a policy: its text, and what it sees.
type programOf struct {
	sees policy.Sight
	text string
}

// program returns the compiled form of an expression of a recorded policy.
func (p *Planner) program(sees policy.Sight, text string) *expr.Program {
	of := programOf{sees, text}
	if program := p.programs[of]; program != nil {
		return program
	}
	program, err := policy.Compile(sees, text)
	if err != nil {
		panic(fmt.Sprintf("expression of a recorded policy: %v", err))
	}
	if len(p.programs) >= maxGraphs {
		clear(p.programs)
	}
	p.programs[of] = program
	return program
}
