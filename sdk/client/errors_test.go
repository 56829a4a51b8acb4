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

func TestAnErrorOfADefinitionHasItsLine(t *testing.T) {
	e := &Error{Code: "invalid_definition", Message: "the definition has 2 errors", Errors: []FieldError{
		{Path: "components.a", Message: "has no kind", Line: 3, Column: 5}, {Message: "is too large"},
	}}
	if got, want := e.Error(), "invalid_definition: the definition has 2 errors\n  3:5: components.a: has no kind\n  is too large"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
