package expr

import (
	"encoding/json"
	"errors"
	"math"
)

// Account is what the evaluations of one decision share: the steps that they may take together, and the input that was
// decoded last, since what fans out reads the same input again and again. An expression that finds too few steps left fails, and
// leaves Left below 0: its error says nothing about the expression. A nil Account bounds nothing.
type Account struct {
	Left int // steps

	raw     json.RawMessage // that known was read from: it must not change while the account is used
	known   any
	decoded bool // known is there

	grown []any // what `append` gave last: nobody else has what is behind it
}

// Steps of reading and writing JSON, in the measure of evaluated nodes.
const (
	valueSteps   = 2  // for a value that is decoded
	objectSteps  = 4  // more if it is an object
	memberSteps  = 2  // for a member of it
	textBytes    = 64 // of JSON that is passed over, copied or written, for one step
	escapedBytes = 8  // of a text with escapes that is read
)

var errSpent = errors.New("the decision has no steps left for it")

// Take counts steps. It reports whether there were as many left.
func (a *Account) Take(steps int) bool {
	if a == nil {
		return true
	}
	a.Left -= steps
	return a.Left >= 0
}

// TakeText counts JSON that is copied.
func (a *Account) TakeText(bytes int) bool { return a.Take(bytes / textBytes) }

// most is how many steps may be taken, of as many as are allowed anyway.
func (a *Account) most(allowed int) int {
	if a == nil {
		return allowed
	}
	return min(allowed, a.Left)
}

// decode is Decode, or finds the value decoded.
func (a *Account) decode(raw json.RawMessage) (any, error) {
	if a.knows(raw) {
		return a.known, nil
	}
	v, err := decode(raw, a)
	if err == nil && a != nil {
		a.raw, a.known, a.decoded = raw, v, true
	}
	return v, err
}

// decodeFields is the same for an object that is looked at by these names only.
func (a *Account) decodeFields(raw json.RawMessage, names []string) (any, error) {
	if a.knows(raw) {
		return a.known, nil
	}
	return decodeFields(raw, names, a)
}

func (a *Account) knows(raw json.RawMessage) bool {
	return a != nil && a.decoded && len(raw) == len(a.raw) && len(raw) > 0 && &raw[0] == &a.raw[0]
}

// grew reports whether the list is what append gave last.
func (a *Account) grew(list []any) bool {
	return a != nil && len(list) > 0 && len(list) == len(a.grown) && &list[0] == &a.grown[0]
}

// grow appends to a list behind which there is nothing of anybody else.
func (a *Account) grow(list, more []any) []any {
	list = append(list, more...)
	if a != nil {
		a.grown = list
	}
	return list
}

// decoder reads raw, in as many steps as are left.
func (a *Account) decoder(raw []byte) decoder {
	d := decoder{b: raw, left: math.MaxInt}
	if a != nil {
		a.TakeText(len(raw))
		d.left = a.Left
	}
	return d
}

// settle counts what a decoder took.
func (a *Account) settle(d *decoder) {
	if a != nil {
		a.Left = d.left
	}
}
