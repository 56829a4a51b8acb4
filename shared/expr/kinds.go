package expr

import (
	"fmt"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/spelling"
)

// kinds is a set of kinds of values: what something may be.
type kinds uint16

const (
	nullKind kinds = 1 << iota
	boolKind
	intKind
	floatKind
	stringKind
	listKind
	objectKind
	timeKind
	durationKind

	numberKind = intKind | floatKind
	anyKind    = durationKind<<1 - 1
)

var kindNames = [...]string{"null", "a boolean", "an integer", "a float", "a string", "a list", "an object", "a time", "a duration"}

// kindOf tells the kind of a value.
func kindOf(v any) kinds {
	switch v.(type) {
	case nil:
		return nullKind
	case bool:
		return boolKind
	case int64:
		return intKind
	case float64:
		return floatKind
	case string:
		return stringKind
	case []any:
		return listKind
	case map[string]any:
		return objectKind
	case skipped:
		return anyKind
	case time.Time:
		return timeKind
	case time.Duration:
		return durationKind
	}
	panic("expr: a value of no kind")
}

// String lists the kinds: "a string or a list".
func (k kinds) String() string {
	if k == anyKind {
		return "any value"
	}
	var names []string
	if k&numberKind == numberKind {
		names = append(names, "a number")
		k &^= numberKind
	}
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

func describe(v any) string { return kindOf(v).String() }

// vars is a set of variables.
type vars uint32

const (
	varInput vars = 1 << iota
	varContext
	varWorkflow
	varName
	varKind
	varTask
	varNow   // the function now()
	varError // the field error of input, where that is a failure
	varAcc
	varItem
	varIndex
	varState // of what accumulates, in its own expression
	varStates
	varAttempt // the number of the attempt that failed

	workflowVars = varInput | varContext | varWorkflow | varNow | varError | varState | varStates
	matcherVars  = varInput | varName | varKind | varTask
	reducerVars  = varAcc | varItem | varIndex | varContext | varWorkflow | varNow | varStates
	failureVars  = varError | varAttempt
	fallbackVars = varInput | varContext | varWorkflow | varNow | varError | varAttempt
)

var varNames = [...]string{"input", "context", "workflow", "name", "kind", "task", "now()", errorName, "acc", "item", "index", stateName, statesName, "attempt"}

const (
	errorName  = "error"
	stateName  = "state"
	statesName = "states"
)

func varNamed(name string) vars {
	for i, n := range varNames {
		if n == name {
			return 1 << i
		}
	}
	return 0
}

func (v vars) names() (names []string) {
	for i, n := range varNames {
		if v&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

func (v vars) String() string { return strings.Join(v.names(), ", ") }

// unknownName says that a name is none of those that are allowed, and which was probably meant.
func unknownName(name string, allowed vars) string {
	message := fmt.Sprintf("unknown name `%s`; known are %s", name, allowed)
	if varNamed(name)&(varAcc|varItem|varIndex) != 0 {
		return message + "; acc, item and index are those of a reduce: elsewhere, as in the body of a map, what arrives is `input`"
	}
	if best := spelling.Nearest(name, allowed.names()); best != "" {
		return message + "; did you mean `" + best + "`?"
	}
	return message
}
