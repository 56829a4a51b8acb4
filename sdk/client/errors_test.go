package client

import "testing"

func TestAnErrorNamesItsPlaceOnce(t *testing.T) {
	for _, e := range []*Error{
		{Code: "invalid_field", Path: "input.a", Message: "is no number"},          // of a planner
		{Code: "invalid_field", Path: "input.a", Message: "input.a: is no number"}, // of a gateway
	} {
		if got, want := e.Error(), "invalid_field at input.a: is no number"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
