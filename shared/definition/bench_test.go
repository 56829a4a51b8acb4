package definition_test

import (
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/expr"
)

func BenchmarkParse(b *testing.B) {
	for name, src := range map[string]string{"yaml": orderYAML, "json": orderJSON} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := definition.Parse([]byte(src)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPolicyFor(b *testing.B) {
	d, err := definition.Parse([]byte(policed))
	if err != nil {
		b.Fatal(err)
	}
	g, err := definition.Compile(d)
	if err != nil {
		b.Fatal(err)
	}
	for name, component := range map[string]string{"known": "plain", "byInput": "big"} {
		b.Run(name, func(b *testing.B) {
			c := g.Lookup(component)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.PolicyFor(c, json.RawMessage(`{"n": 200}`), definition.Given{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkShape(b *testing.B) {
	for name, component := range map[string]string{
		"untouched": "{step: x}", "literals": "{step: x, params: {n: 1, url: u}}", "computed": `{step: x, params: {n: {"$": "input.a"}}}`,
	} {
		b.Run(name, func(b *testing.B) {
			d, err := definition.Parse([]byte(parts("a: " + component)))
			if err != nil {
				b.Fatal(err)
			}
			g, err := definition.Compile(d)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Components[0].Shape(expr.Env{Input: json.RawMessage(`{"a": 1, "b": [1, 2, 3], "c": "text"}`)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
