package policy

import (
	"slices"
	"strings"
	"time"
)

// given is a set of fields.
type given uint32

// The bits of the fields: 1 << the index in the table.
const (
	maxRetries given = 1 << iota
	maxLost
	baseDelay
	maxDelay
	timeout
	startTimeout
	backoff
	onFailure
	onLost
	mode
	queue
	priority
	retryIf
	nonRetryable
	fallback
	deadline
	heartbeatTimeout
	idempotencyKey
	concurrency
	rateLimit
	circuitBreaker
	executor
)

// table has one line per field. Its order is recorded, since the tag of a field is its index + 1: a new field goes to
// the end, and none is ever taken out.
var table = [...]field{
	count("max_retries", func(p *Policy) *int { return &p.MaxRetries }),
	count("max_lost", func(p *Policy) *int { return &p.MaxLost }),
	duration("base_delay", 0, func(p *Policy) *time.Duration { return &p.BaseDelay }),
	duration("max_delay", 0, func(p *Policy) *time.Duration { return &p.MaxDelay }),
	optional(duration("timeout", 1, func(p *Policy) *time.Duration { return &p.Timeout })),
	optional(duration("start_timeout", 1, func(p *Policy) *time.Duration { return &p.StartTimeout })),
	choice("backoff", func(p *Policy) *Backoff { return &p.Backoff },
		[]string{None: "none", Linear: "linear", Exponential: "exponential", Jitter: "jitter"}),
	choice("on_failure", func(p *Policy) *OnFailure { return &p.OnFailure }, []string{Halt: "halt", Skip: "skip"}),
	onLostField(),
	choice("execution_mode", func(p *Policy) *Mode { return &p.Mode },
		[]string{Durable: "durable", Async: "async", External: "external", Sync: "sync"}),
	queueName("queue", func(p *Policy) *string { return &p.Queue }),
	choice("priority", func(p *Policy) *Priority { return &p.Priority },
		[]string{Normal: "normal", Low: "low", High: "high", Critical: "critical"}),
	optional(expression("retry_if", SeesFailure, func(p *Policy) *string { return &p.RetryIf })),
	optional(errorTypes("non_retryable", func(p *Policy) *string { return &p.NonRetryable })),
	optional(fallbackField()),
	optional(duration("deadline", 1, func(p *Policy) *time.Duration { return &p.Deadline })),
	optional(duration("heartbeat_timeout", MinHeartbeatTimeout, func(p *Policy) *time.Duration { return &p.HeartbeatTimeout })),
	optional(expression("idempotency_key", SeesStep, func(p *Policy) *string { return &p.IdempotencyKey })),
	optional(keyLimit("concurrency", atATime, func(p *Policy) *KeyLimit { return &p.Concurrency })),
	optional(keyLimit("rate_limit", inATime, func(p *Policy) *KeyLimit { return &p.Rate })),
	optional(breakerField("circuit_breaker", func(p *Policy) *Breaker { return &p.Breaker })),
	executorField("executor", func(p *Policy) *Executor { return &p.Executor }),
}

// Fields are the names of all fields.
func Fields() []string {
	all := make([]string, len(table))
	for i := range table {
		all[i] = table[i].name
	}
	return all
}

// knownFields are all fields of a rule, for errors.
var knownFields = strings.Join(slices.Sorted(slices.Values(append(Fields(), "inherit", "preset"))), ", ")

// Properties are the JSON Schemas of the fields, by name, for the $defs of the schema of definitions.
func Properties() map[string]any {
	all := map[string]any{}
	for i := range table {
		f := &table[i]
		all[f.name] = f.schema
		if f.timed {
			all[f.name+"_ms"] = f.inMs
		}
	}
	return all
}

// field reads one field of a policy.
func (p *decoder) field(f *fields, name, at string, v any) {
	base, ms := strings.CutSuffix(name, "_ms")
	i := slices.IndexFunc(table[:], func(f field) bool { return f.name == name || f.timed && f.name == base })
	if i < 0 {
		p.fail(at, "unknown field", Known(name, knownFields))
		return
	}
	table[i].read(p, &f.values, at, v, ms)
	bit := given(1) << i
	if f.given&bit != 0 {
		p.fail(at, "given twice, with and without _ms", "keep one")
	}
	f.given |= bit
}
