// Package shop is the worker of the example: Go functions for the tasks named
// orders.*, taken straight from Kafka.
package shop

import (
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
)

// The tasks with the types of their values.
var (
	Validate = task.Define[Order, Order]("orders.validate")
	Review   = task.Define[Invoice, Approval]("orders.review")
	Charge   = task.Define[Invoice, Payment]("orders.charge")
	Wrap     = task.Define[Paid, Wrapping]("orders.wrap")
	Points   = task.Define[Paid, Credit]("orders.points")
	Confirm  = task.Define[Shipment, Outcome]("orders.confirm")
	Sorry    = task.Define[Payment, Outcome]("orders.sorry")
)

// Serve registers all tasks of the shop with a worker.
func (s *Shop) Serve(w *worker.Worker) {
	worker.Handle(w, Validate, validate)
	worker.Handle(w, Review, review)
	worker.Handle(w, Charge, s.charge)
	worker.Handle(w, Wrap, wrap)
	worker.Handle(w, Points, points)
	worker.Handle(w, Confirm, confirm)
	worker.Handle(w, Sorry, sorry)
}

// Order is what a customer ordered.
type Order struct {
	ID       string   `json:"id"`
	Customer string   `json:"customer"`
	Card     string   `json:"card"`
	Gift     bool     `json:"gift"`
	Lines    []Line   `json:"lines"`
	Simulate Simulate `json:"simulate"`
}

// Line is one line of an order.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"cents"`
}

// Simulate makes the example's services misbehave on purpose.
type Simulate struct {
	CarrierFails int  `json:"carrier_fails,omitempty"` // attempts
	CarrierMS    int  `json:"carrier_ms,omitempty"`
	OutOfStock   bool `json:"out_of_stock,omitempty"`
	PointsFail   bool `json:"points_fail,omitempty"`
}

// Invoice is an order with its total. Review is nil unless it was reviewed.
type Invoice struct {
	Order  Order     `json:"order"`
	Total  int       `json:"total"`
	Review *Approval `json:"review"`
}

// Approval is what the review of a large order came to.
type Approval struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason"`
}

// Payment is a payment that was taken, or why it was not.
type Payment struct {
	Order  string `json:"order"`
	Paid   bool   `json:"paid"`
	Reason string `json:"reason,omitempty"`
	Cents  int    `json:"cents"`
	Number string `json:"number,omitempty"` // of the payment
}

// Paid is an order that is paid for.
type Paid struct {
	Order   Order   `json:"order"`
	Payment Payment `json:"payment"`
}

// Wrapping is a gift's paper.
type Wrapping struct {
	Paper string `json:"paper"`
}

// Credit is what a customer earned.
type Credit struct {
	Points int `json:"points"`
}

// Shipment is all that a confirmation tells. Gift and Points are nil where
// there are none.
type Shipment struct {
	Order   Order   `json:"order"`
	Payment Payment `json:"payment"`
	Label   struct {
		Tracking string `json:"tracking"`
	} `json:"label"`
	Gift   *Wrapping `json:"gift"`
	Points *Credit   `json:"points"`
}

// Outcome is how an order ended.
type Outcome struct {
	Order   string `json:"order"`
	Outcome string `json:"outcome"` // shipped or declined
	Cents   int    `json:"cents"`
	Message string `json:"message"`
}
