// Package expr evaluates the expressions of workflow definitions. The syntax is that of Expr
// (github.com/expr-lang/expr), whose parser it uses; values and operators follow JSON, exactly:
//
//   - integers are exact 64 bit and overflow is an error; a number that is not finite is an error; an integer outside
//     64 bit in the data is an error as soon as an expression looks at that data;
//   - integers and floats compare exactly, and there is one deep equality: 1 == 1.0, also inside objects and lists;
//   - conditions must be boolean: null is an error, not false;
//   - an absent field is an error; `?.` and `??` say what is optional;
//   - whatever walks an object does so in the order of its keys;
//   - evaluation always ends: it is limited in steps and in memory, and it can do no I/O.
//
// The package is pure: the only clock is Env.Now, the time of the journal record.
package expr

import (
	"encoding/json"
	"time"

	"github.com/expr-lang/expr/ast"
)

// Limits of one expression and of one evaluation.
const (
	MaxSource = 8 << 10   // bytes of source
	MaxNodes  = 4_000     // nodes of the parsed expression
	MaxSteps  = 1_000_000 // evaluated nodes, visited elements, and 64-byte pieces of scanned text
	MaxBytes  = 16 << 20  // of values made on the way, and of the result
	MaxDepth  = 512       // nesting of a result
)

// Env is what an expression sees. Input and Context are decoded only if the expression refers to them.
type Env struct {
	Input      json.RawMessage // the arriving value; empty = null
	Context    json.RawMessage // values given with the run; empty = {}
	WorkflowID string
	Now        time.Time // journal time

	State  json.RawMessage // of what accumulates, in its own expression; empty = null
	States Stated          // of all that accumulate; nil: an expression that looks at one fails

	Name, Kind, Task string // of the component; seen by matchers only

	Fold *Fold // seen by reducers only

	Attempt int             // that failed, from 1; seen by conditions of failures, whose error is the field of Input, and by fallbacks
	Error   json.RawMessage // of a fallback; empty: it is the field of Input

	Account *Account // nil: this evaluation shares nothing with others
}

// Program is a compiled expression: immutable and safe for concurrent use.
type Program struct {
	source      string
	root        ast.Node
	patterns    map[ast.Node]*Pattern // the constant ones
	patternSize int                   // of them, in instructions
	allowed     vars                  // the variables that it may refer to
	want        kinds                 // what it must be able to evaluate to
	seen        vars                  // the variables that it refers to
	fields      []string              // the fields of input that it takes by name
	whole       bool                  // it also looks at input otherwise
	states      []string              // the names that it takes of states, sorted
	result      kinds                 // what it may evaluate to, as far as is known
}

// PatternSize is the size of the program's constant patterns in instructions.
func (p *Program) PatternSize() int { return p.patternSize }

// Compile parses and checks an expression over input, context, workflow and now(). Its errors are *Error.
func Compile(src string) (*Program, error) { return compile(src, workflowVars, anyKind) }

// CompileCondition is Compile for an expression that must be boolean; one that cannot be is refused.
func CompileCondition(src string) (*Program, error) { return compile(src, workflowVars, boolKind) }

// CompileMatcher compiles the condition of a policy rule, over name, kind, task and input.
func CompileMatcher(src string) (*Program, error) { return compile(src, matcherVars, boolKind) }

// CompileFailureCondition compiles a condition over a failure: error and attempt.
func CompileFailureCondition(src string) (*Program, error) {
	return compile(src, failureVars, boolKind)
}

// CompileFallback compiles what takes the place of a result, over the arriving value, error, attempt, context, workflow
// and now().
func CompileFallback(src string) (*Program, error) { return compile(src, fallbackVars, anyKind) }

// Source is the expression as it was written.
func (p *Program) Source() string { return p.source }

// UsesInput reports whether the expression refers to `input`.
func (p *Program) UsesInput() bool { return p.seen&varInput != 0 }

// UsesError reports whether the expression refers to `error`.
func (p *Program) UsesError() bool { return p.seen&varError != 0 }

// Eval evaluates the program and returns canonical JSON: object keys sorted, numbers in shortest form. Its errors are
// *Error.
func (p *Program) Eval(env Env) (json.RawMessage, error) {
	v, err := p.Value(env)
	if err != nil {
		return nil, err
	}
	b, err := env.Account.Append(nil, v)
	if err != nil {
		return nil, p.fail(p.root, err.Error())
	}
	return b, nil
}

// Value evaluates the program to a Go value: nil, bool, int64, float64, string, []any, map[string]any, time.Time or
// time.Duration. The caller must not change it. Its errors are *Error.
func (p *Program) Value(env Env) (any, error) {
	m := machine{program: p, env: &env, most: env.Account.most(MaxSteps)}
	v, err := m.eval(p.root)
	env.Account.Take(m.steps)
	if err != nil {
		return nil, p.locate(err)
	}
	return v, nil
}

// Holds evaluates a condition. What is not exactly true or false is an *Error.
func (p *Program) Holds(env Env) (bool, error) {
	v, err := p.Value(env)
	if err != nil {
		return false, err
	}
	holds, ok := v.(bool)
	if !ok {
		return false, p.fail(p.root, "a condition must be true or false, not "+describe(v), value{p.source, v})
	}
	return holds, nil
}
