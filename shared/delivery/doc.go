// Package delivery says what became of handing work to a worker that must be prodded and may not
// answer, such as an agent in a terminal: from what was seen to the state of the delivery and its reason.
//
// It is pure: who delivers looks, types and waits, and asks here what that means.
package delivery
