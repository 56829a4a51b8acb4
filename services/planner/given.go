package planner

import (
	"encoding/json"
	"fmt"
)

// maxSetup bounds in bytes what commands make of what was given with a workflow:
// it is one row, which must fit a record of the changelog.
const maxSetup = 3 << 20

// given is what a command gives a workflow that exists.
type given struct {
	policies json.RawMessage // in place of its own
	context  json.RawMessage // over its own
}

// fits refuses what would make of all that the workflow has been given more than is kept,
// unless it makes it smaller.
func (it *intake) fits(path string, g given) bool {
	size := it.givenSize(g)
	if size > maxSetup && size > it.givenSize(given{}) {
		it.refuseAt("too_large", path, fmt.Sprintf("what the workflow has been given would have %d bytes, the limit is %d", size, maxSetup))
		return false
	}
	return true
}

// givenSize is the size in bytes of what the workflow has been given, with that of a command.
func (it *intake) givenSize(g given) int {
	s := it.setup()
	policies, context := s.Policies, s.Context
	if len(g.policies) > 0 {
		policies = g.policies
	}
	if len(g.context) > 0 {
		context = mergeObjects(context, g.context)
	}
	return len(s.Options) + len(policies) + len(context) + len(s.Labels) + ownSize(s.Own)
}
