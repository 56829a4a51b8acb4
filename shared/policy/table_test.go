package policy

import (
	"testing"

	"github.com/heddle-run/heddle/shared/expr"
)

// others are a bit and a value for each field, none of them its default.
var others = map[string]struct {
	bit   given
	value string
}{
	"max_retries": {maxRetries, `7`}, "max_lost": {maxLost, `7`}, "backoff": {backoff, `"jitter"`},
	"base_delay": {baseDelay, `"7s"`}, "max_delay": {maxDelay, `"7s"`}, "timeout": {timeout, `"7s"`},
	"start_timeout": {startTimeout, `"7s"`}, "deadline": {deadline, `"7s"`}, "on_failure": {onFailure, `"skip"`}, "on_lost": {onLost, `"fail"`},
	"execution_mode": {mode, `"async"`}, "queue": {queue, `"other"`}, "priority": {priority, `"high"`},
	"heartbeat_timeout": {heartbeatTimeout, `"7s"`},
	"idempotency_key":   {idempotencyKey, `"input.order"`},
	"retry_if":          {retryIf, `"attempt < 3"`}, "non_retryable": {nonRetryable, `["declined", "gone"]`},
	"fallback":        {fallback, `{"task": "orders.guess", "queue": "other"}`},
	"concurrency":     {concurrency, `{"key": "input.tenant", "limit": 7}`},
	"rate_limit":      {rateLimit, `{"key": "input.tenant", "limit": 7, "per": "3s"}`},
	"executor":        {executor, `"pool:images"`},
	"circuit_breaker": {circuitBreaker, `{"name": "prices", "failure_threshold": 3, "reset_timeout": "7s", "on_open": "fail"}`},
}

// A field has a line, a bit and a tag: it is read, given to a policy, and recorded.
func TestEachFieldOfAPolicyHasItsPlaces(t *testing.T) {
	if len(others) != len(Fields()) {
		t.Fatalf("%d fields are tried, there are %d", len(others), len(Fields()))
	}
	for i := range table {
		name := table[i].name
		other, ok := others[name]
		if !ok {
			t.Fatalf("%s is not tried", name)
		}
		v, err := expr.Decode([]byte(`{"` + name + `":` + other.value + `}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := RuleOf(v, "policy")
		if err != nil || r.fields.given != other.bit {
			t.Fatalf("%s gives %b, want %b: %v", name, r.fields.given, other.bit, err)
		}
		p := Default()
		r.fields.fill(&p, 0)
		if p == Default() {
			t.Errorf("%s changes no policy", name)
		}
		if back, err := Parse(p.Append(nil)); back != p || err != nil {
			t.Errorf("%s is recorded as %+v, want %+v: %v", name, back, p, err)
		}
	}
}
