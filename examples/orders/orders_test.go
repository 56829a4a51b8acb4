package orders_test

import (
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/examples/orders"
	"github.com/heddle-run/heddle/shared/definition"
)

func TestTheDefinitionAcceptsEveryOrder(t *testing.T) {
	def, err := definition.Parse(orders.Definition)
	if err != nil {
		t.Fatal(err)
	}
	if len(def.Warnings) > 0 {
		t.Fatalf("the definition has warnings: %v", def.Warnings)
	}
	graph, err := definition.Compile(def)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := orders.Cases()
	if err != nil {
		t.Fatal(err)
	}
	kinds, ids := map[string]int{}, map[string]bool{}
	for _, c := range cases {
		if ids[c.ID] {
			t.Errorf("order %s is there twice", c.ID)
		}
		ids[c.ID] = true
		kinds[c.Kind]++
		if _, err := graph.AcceptInput(c.Order); err != nil {
			t.Errorf("order %s is refused: %v", c.ID, err)
		}
	}
	if len(cases) < 24 || len(kinds) < 8 {
		t.Errorf("%d orders of %d kinds; the demo promises dozens of different kinds", len(cases), len(kinds))
	}
}

func TestAnOrderThatEndsOtherwiseIsNoticed(t *testing.T) {
	c := orders.Case{ID: "ORD-1", Expect: orders.Expectation{Status: "completed", Outcome: "shipped", Cents: 5}}
	if err := c.Check("completed", json.RawMessage(`{"order":"ORD-1","outcome":"shipped","cents":5}`)); err != nil {
		t.Errorf("as expected, but: %v", err)
	}
	for status, result := range map[string]string{
		"failed":    `null`,
		"completed": `{"order":"ORD-1","outcome":"declined","cents":5}`,
	} {
		if c.Check(status, json.RawMessage(result)) == nil {
			t.Errorf("%s with %s went unnoticed", status, result)
		}
	}
}
