package workload

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// prime bounds the numbers that components compute.
const prime = 1_000_003

type kind int

const (
	step kind = iota
	pure
	condition
	sleep
	folded  // a reduce, with its map
	mapping // the map of a reduce
)

type join int

const (
	root join = iota
	single
	list
	named
	anyOf
	otherwise // else
	caught    // catch
	race      // first: of two, of which the second is a limit
)

// Component is one component of a random graph. Every fact of a step or an
// expression is a number; conditions and sleeps pass on what arrives.
type Component struct {
	Name   string
	kind   kind
	join   join
	arms   []arm
	when   *guard
	ruled  bool  // it is a rule, whose condition is when
	asks   []int // conditions that a rule shares, which are fed as it is
	any    bool  // one of them is enough
	limit  bool  // a sleep that a race ends
	guard  guard // condition
	mul    int64 // step, pure: (weight·mul + add) mod prime
	add    int64
	breaks int64 // step, pure: an error where weight mod breaks is 0; 0: never
	shaped shaping
	Acts   behaviour
	rests  time.Duration // sleep
	waits  waiting       // sleep: what for
	hush   int           // sleep: the component whose silence it waits for
	needs  fields        // of its policy, to end as it must
	own    Rules         // the one that the component itself has, or none
	shape  *shape        // of the arriving value

	home     *Component // the map in whose body it is
	over     *Component // folded: the map
	of       *Component // folded: the component in its body
	feeds    bool       // folded: it has the arms of the map
	byTask   bool       // folded: by a task
	partial  bool       // folded: whatever has failed is left out
	errors   bool       // folded: its value says what has failed
	until    *guard     // folded: to where it does not hold of what it comes to
	parallel int        // mapping: elements at a time; 0: not said
	tolerate tolerance  // mapping: elements that may fail
	inner    bool       // it is a map, in the body of one, or reminds of a signal
	halts    bool       // what fails for good would halt the workflow, and a map tolerates it
	denies   bool       // it fails while its breaker is open, and is tried again for as long as it takes

	patience time.Duration // sleep: the time that a signal has; 0: any
	deaf     bool          // sleep: nobody sends its signal
	remind   *reminder     // sleep: of its signal

	sums   *summing   // it accumulates what it makes
	reacts *reaction  // it is a reactor of its parent
	looks  *Component // it gives the state of this one
	late   bool       // what arrives comes of a state: of which input is not known

	computed bool // its parameter or its time of rest is an expression
	gives    bool // it has a context of its own
}

type arm struct {
	parent   int
	name     string
	optional bool
}

// guard holds where (weight + offset) mod of is not 0.
type guard struct{ offset, of int64 }

func (g guard) holds(v any) bool { return (weigh(v)+g.offset)%g.of != 0 }

func (g guard) expr(weight string) string {
	return fmt.Sprintf("(%s + %d) %% %d != 0", weight, g.offset, g.of)
}

// weight is the expression of the weight of what arrives.
func (c *Component) weight() string {
	if c.join == caught {
		return "(" + c.shape.expr("input.value") + " + 0 * len(error.type))"
	}
	return c.shape.expr("input")
}

type shaping int

const (
	plain    shaping = iota
	weighted         // input: the weight of the arriving value
	added            // params: the number to add
)

// shape is what a value looks like: a number, or a list or object of shapes.
type shape struct {
	parts []part
	Named bool
}

type part struct {
	name     string
	optional bool
	shape    *shape
}

var number = &shape{}

// absent is the weight of a dead optional arm.
const absent = 5

// expr is the weight of a value of this shape at path, as weigh computes it.
func (s *shape) expr(path string) string {
	if len(s.parts) == 0 {
		return path
	}
	terms := make([]string, len(s.parts))
	for i, p := range s.parts {
		at := fmt.Sprintf("%s[%d]", path, i)
		if s.Named {
			at = path + "." + p.name
		}
		terms[i] = p.shape.expr(at)
		if p.optional {
			terms[i] = fmt.Sprintf("(%s == null ? %d : %s)", at, absent, terms[i])
		}
		terms[i] = fmt.Sprintf("%d * %s", i+2, terms[i])
	}
	return "(" + strings.Join(terms, " + ") + ")"
}

// weigh makes one number of a value; the order of what it holds matters.
func weigh(v any) int64 {
	switch v := v.(type) {
	case nil:
		return absent
	case int64:
		return v
	case []any:
		sum := int64(0)
		for i, part := range v {
			sum += int64(i+2) * weigh(part)
		}
		return sum
	case object:
		sum := int64(0)
		for i, f := range v {
			sum += int64(i+2) * weigh(f.value)
		}
		return sum
	}
	panic(fmt.Sprintf("no value of a graph: %T", v))
}

// object is an object with its fields in the order of their names.
type object []field

type field struct {
	name  string
	value any
}

// verbatim is the JSON of a value that nothing takes.
type verbatim string

// parse reads a value of a shape.
func parse(raw json.RawMessage, s *shape) (any, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	switch {
	case len(s.parts) == 0:
		var n int64
		return n, json.Unmarshal(raw, &n)
	case s.Named:
		return parseObject(raw, s)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil || len(items) != len(s.parts) {
		return nil, fmt.Errorf("%s is no list of %d", raw, len(s.parts))
	}
	out := make([]any, len(items))
	for i := range items {
		var err error
		if out[i], err = parse(items[i], s.parts[i].shape); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func parseObject(raw json.RawMessage, s *shape) (any, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || len(fields) != len(s.parts) {
		return nil, fmt.Errorf("%s is no object of %d fields", raw, len(s.parts))
	}
	out := object{}
	for _, p := range s.parts {
		v, err := parse(fields[p.name], p.shape)
		if err != nil {
			return nil, err
		}
		out = append(out, field{p.name, v})
	}
	return out, nil
}

// text is the JSON of a value.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case int64:
		return fmt.Sprint(v)
	case verbatim:
		return string(v)
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i] = text(v[i])
		}
		return "[" + strings.Join(items, ",") + "]"
	case object:
		items := make([]string, len(v))
		for i := range v {
			items[i] = fmt.Sprintf("%q:%s", v[i].name, text(v[i].value))
		}
		return "{" + strings.Join(items, ",") + "}"
	}
	panic(fmt.Sprintf("no value of a graph: %T", v))
}
