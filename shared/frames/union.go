package frames

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/wire"
)

// kind is one member of a closed set of messages: its number in Protocol Buffers for ever, its name
// in JSON, its making.
type kind[M any] struct {
	number int
	name   string
	create func() M
}

// set lists every member once, ascending by number.
type set[M wire.Message] []kind[M]

func (s set[M]) name(n int) string {
	for _, k := range s {
		if k.number == n {
			return k.name
		}
	}
	return ""
}

func (s set[M]) create(n int) (M, bool) {
	for _, k := range s {
		if k.number == n {
			return k.create(), true
		}
	}
	var none M
	return none, false
}

func (s set[M]) numbers() []int {
	all := make([]int, len(s))
	for i, k := range s {
		all[i] = k.number
	}
	return all
}

// fields visits the member at p.
func (s set[M]) fields(c *wire.Codec, p *M, number func(M) int) {
	wire.OneOf(c, p, number, s.name, s.create, s.numbers())
}

// checker is a message that knows what its fields must not be.
type checker interface{ check() error }

func check(m any) error {
	if k, ok := m.(checker); ok {
		return k.check()
	}
	return nil
}

// bounded says whether a text has 1 to most bytes.
func bounded(what, s string, most int) error {
	if s == "" || len(s) > most {
		return fmt.Errorf("%s has %d bytes, want 1 to %d", what, len(s), most)
	}
	return nil
}
