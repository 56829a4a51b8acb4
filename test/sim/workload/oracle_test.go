package workload

import (
	"testing"
	"time"
)

// The work of a plan is that of each attempt that is meant, of each value that
// arrives, with what each waits for its keys.
func TestThePlanKnowsItsWork(t *testing.T) {
	root := &Component{Name: "a", shape: number}
	root.Acts = behaviour{Takes: 10 * time.Second, Fails: 3}
	both := &Component{Name: "b", shape: number, join: anyOf, arms: []arm{{parent: 0}, {parent: 0}}, needs: fields{"timeout_ms": 500}}
	both.Acts = behaviour{Takes: time.Millisecond, Hangs: 2}
	hopeless := &Component{Name: "c", shape: number, needs: fields{"preset": "io"}}
	hopeless.Acts = behaviour{Takes: time.Minute, Hopeless: true}
	rest := &Component{Name: "d", shape: number, kind: sleep, rests: 7 * time.Second}
	never := &Component{Name: "e", shape: number, when: &guard{0, 1}}
	never.Acts = behaviour{Takes: time.Hour}
	paced := &Component{Name: "f", shape: number, needs: fields{
		"rate_limit": map[string]any{"key": "'paced'", "limit": 3, "per_ms": 15_000}, "circuit_breaker": map[string]any{"name": "fragile", "reset_timeout_ms": 4000},
	}}
	paced.Acts = behaviour{Takes: time.Millisecond, Fails: 1}
	p := &Plan{Workflows: []*Workflow{
		{Graph: &Graph{Components: []*Component{root, both}}, Start: 1, More: []Deed{{What: Feed, Input: 2}, {What: Checkpoint}}},
		{Graph: &Graph{Components: []*Component{hopeless, rest, never}}, Start: 1},
		{Graph: &Graph{Components: []*Component{paced}}, Start: 1},
	}}
	want := 2*(4*10*time.Second+2*(2*500*time.Millisecond+time.Millisecond)) + 3*time.Minute + 7*time.Second + 2*(9*time.Second+time.Millisecond)
	if got := p.Work(); got != want {
		t.Errorf("the work takes %v, want %v", got, want)
	}
}
