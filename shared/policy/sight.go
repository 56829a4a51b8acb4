package policy

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/expr"
)

// Sight is what the expression of a field sees, and whether it must be a condition.
type Sight uint8

// The sights.
const (
	SeesStep    Sight = 1 // what an expression of the component would see; any value
	SeesFailure Sight = 2 // error, as those that catch it see it, and attempt, its number; a condition
	SeesBoth    Sight = 3 // what arrived and the context, and error and attempt; any value
)

// Compile compiles the expression of a field. Its errors are *expr.Error.
func Compile(sees Sight, src string) (*expr.Program, error) {
	switch sees {
	case SeesStep:
		return expr.Compile(src)
	case SeesFailure:
		return expr.CompileFailureCondition(src)
	case SeesBoth:
		return expr.CompileFallback(src)
	}
	panic(fmt.Sprintf("policy: an expression of no sight: %d", sees))
}
