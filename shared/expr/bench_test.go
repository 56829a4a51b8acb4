package expr_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/expr"
)

func BenchmarkHolds(b *testing.B) {
	small := json.RawMessage(`{"total": 1200, "customer": {"name": "ann", "vip": true}, "lines": [{"n": 1, "price": 12.5}, {"n": 2, "price": 3}]}`)
	large := json.RawMessage(`{"total": 1200, "lines": [` + strings.TrimSuffix(strings.Repeat(`{"n": 1, "price": 12.5, "sku": "abc-123"},`, 200), ",") + `]}`)
	for name, c := range map[string]struct {
		src   string
		input json.RawMessage
	}{
		"constant":   {"true", small},
		"field":      {"input.total > 1000", small},
		"predicate":  {"any(input.lines, .price > 10) && input.customer.vip", small},
		"largeInput": {"input.total > 1000", large},
	} {
		b.Run(name, func(b *testing.B) {
			p, err := expr.CompileCondition(c.src)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if holds, err := p.Holds(expr.Env{Input: c.input}); err != nil || !holds {
					b.Fatal(holds, err)
				}
			}
		})
	}
}
