package planner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// retryable asks a policy whether a failure that may be tried again is. What its condition takes
// comes out of the budget of one component. One that cannot be evaluated, or takes too much, is
// wrong: it does not hold, the failure says so, and nothing takes its place.
func (en *ends) retryable(id events.RunnableID, r *runnable, pol policy.Policy, err *events.TaskError) (again, wrong bool) {
	if pol.Final(err.Type) {
		return false, false
	}
	if pol.RetryIf == "" {
		return true, false
	}
	failed, why := *err, ""
	over := en.spend.evaluate(en.invoked(id).size(), func() {
		value := mustJSON(map[string]shownError{"error": asShown(failed)})
		en.spend.holds(len(value))
		holds, damage := en.p.program(policy.SeesFailure, pol.RetryIf).Holds(expr.Env{
			Input: value, Attempt: int(r.Failures) + 1, Account: en.account(),
		})
		if en.spend.spent() {
			en.spend.exceeds()
		}
		if damage != nil {
			why = damage.Error()
		}
		again = holds && damage == nil
	})
	if over != nil {
		again, why = false, over.Message
	}
	if why != "" {
		err.Message = events.Cut(fmt.Sprintf("%s (it is not tried again: retry_if: %s)", failed.Message, why), events.MaxErrorMessage)
	}
	return again, why != ""
}
