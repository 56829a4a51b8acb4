package expr

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// MaxPattern bounds regular expressions, in instructions of their compiled form:
// the constant ones of an expression together, and each other one. A repetition
// is as long as what it repeats is often: "(a?){1000}" has 2,000. An instruction
// takes about 200 bytes, 2 µs to compile, and some ns for each byte of a text.
const MaxPattern = 10_000

// Costs in steps of what a pattern is to be compiled and matched.
const (
	patternSteps = 30 // to compile an instruction
	patternBatch = 16 // instructions that a text can be matched with for one
)

// Pattern is a regular expression that is bounded in size.
type Pattern struct {
	*regexp.Regexp
	Size int // in instructions, about
}

// CompilePattern compiles a regular expression, or refuses one of more than
// MaxPattern instructions.
func CompilePattern(s string) (*Pattern, error) {
	size, err := patternSize(s)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, err
	}
	return &Pattern{re, size}, nil
}

// patternSize is how many instructions a pattern has, without compiling it.
func patternSize(s string) (int, error) {
	re, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return 0, err
	}
	size := instructions(re)
	if size > MaxPattern {
		return 0, fmt.Errorf("a regular expression of more than %d instructions, with repetitions written out", MaxPattern)
	}
	return size, nil
}

// instructions estimates the size of a compiled pattern, not by less than it is.
// A class counts by its ranges, too.
func instructions(re *syntax.Regexp) int {
	n := 2
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass:
		n += len(re.Rune)
	case syntax.OpRepeat:
		n *= max(re.Max, re.Min+1)
	default: // no more than its parts
	}
	return n
}

// matching is what it takes to match a text of so many bytes, in steps.
func (p *Pattern) matching(bytes int) int { return (bytes/4 + 1) * (1 + p.Size/patternBatch) }
