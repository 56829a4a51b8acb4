// Package orders is the order-fulfilment example: a definition, the orders to
// run it on and what is expected of each. Package carrier is its HTTP service,
// package shop its worker.
package orders

import (
	"embed"
	"encoding/json"
	"fmt"
)

// Definition is the workflow definition in YAML.
//
//go:embed order-fulfilment.yaml
var Definition []byte

//go:embed orders.json
var orders []byte

// Files are the files of the example as they are in the repository.
//
//go:embed README.md order-fulfilment.yaml orders.json orders.go carrier/*.go shop/*.go cmd
var Files embed.FS

// Case is an order and what is expected of it.
type Case struct {
	Kind   string          `json:"kind"` // why it is in the file
	Order  json.RawMessage `json:"order"`
	Expect Expectation     `json:"expect"`

	ID string `json:"-"` // of the order, and of its workflow
}

// Expectation is how an order should end.
type Expectation struct {
	Status  string `json:"status"`            // of the workflow
	Outcome string `json:"outcome,omitempty"` // of the order, unless it fails
	Cents   int    `json:"cents,omitempty"`
}

// Result is the workflow's output `order`.
type Result struct {
	Order   string `json:"order"`
	Outcome string `json:"outcome"` // shipped or declined
	Cents   int    `json:"cents"`
}

// Cases are all orders of orders.json.
func Cases() ([]Case, error) {
	var all []Case
	if err := json.Unmarshal(orders, &all); err != nil {
		return nil, fmt.Errorf("reading orders.json: %w", err)
	}
	for i := range all {
		var order struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(all[i].Order, &order); err != nil {
			return nil, fmt.Errorf("reading order %d of orders.json: %w", i, err)
		}
		all[i].ID = order.ID
	}
	return all, nil
}

// Check says how an order ended otherwise than expected; nil if as expected.
func (c *Case) Check(status string, result json.RawMessage) error {
	if status != c.Expect.Status {
		return fmt.Errorf("order %s (%s) is %s, expected %s", c.ID, c.Kind, status, c.Expect.Status)
	}
	if status != "completed" {
		return nil
	}
	var got Result
	if err := json.Unmarshal(result, &got); err != nil {
		return fmt.Errorf("order %s (%s): reading its result: %w", c.ID, c.Kind, err)
	}
	if want := (Result{c.ID, c.Expect.Outcome, c.Expect.Cents}); got != want {
		return fmt.Errorf("order %s (%s) ended as %+v, expected %+v", c.ID, c.Kind, got, want)
	}
	return nil
}
