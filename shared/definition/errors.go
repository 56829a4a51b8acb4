package definition

import "github.com/heddle-run/heddle/shared/policy"

// Error is one thing that is wrong with a definition: its path (components.a.after[0]), what is wrong, and the fix.
type Error = policy.Error

// Errors is everything that is wrong with a definition, in the order of the paths.
type Errors = policy.Errors

// collect adds errors while there are not too many already.
func collect(errs Errors, more ...Error) Errors {
	return append(errs, more[:min(len(more), max(0, policy.MaxErrors-len(errs)))]...)
}
