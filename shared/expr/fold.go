package expr

import "encoding/json"

// Fold is what a reducer sees in place of an input. Values are as Decode gives them.
type Fold struct {
	Acc   any // what came of the items before
	Item  any
	Index int64 // of the item
}

// CompileReducer compiles an expression over acc, item, index, context, workflow, states and now().
func CompileReducer(src string) (*Program, error) { return compile(src, reducerVars, anyKind) }

// CompileReducerCondition is CompileReducer for an expression that must be boolean.
func CompileReducerCondition(src string) (*Program, error) {
	return compile(src, reducerVars, boolKind)
}

// Decode is Decode, at the expense of the account.
func (a *Account) Decode(raw json.RawMessage) (any, error) { return decode(raw, a) }
