package view

// recent remembers the stored rows, without their statuses, of workflows that
// changed lately: most that change do so again soon, and then nothing is read.
// Beyond a number of workflows it forgets those that changed longest ago.
type recent struct {
	young, old map[string][]byte // by workflow; where both have one, young is right
}

const (
	// recentWorkflows is how many of the youngest are remembered at least; at
	// most there are twice as many.
	recentWorkflows = 4096

	// recentBytes is how long the id and row of a workflow may be: 8,192 of
	// them are bounded by 4 MiB, and usually 1.
	recentBytes = 512
)

// row is the row of a workflow as put; nil when it is not remembered.
func (r *recent) row(id []byte) []byte {
	if row := r.young[string(id)]; row != nil {
		return row
	}
	return r.old[string(id)]
}

// put remembers a row, which stays the caller's.
func (r *recent) put(id, row []byte) {
	if len(id)+len(row) > recentBytes {
		r.forget(id)
		return
	}
	if len(r.young) >= recentWorkflows || r.young == nil {
		r.old, r.young = r.young, make(map[string][]byte, recentWorkflows)
	}
	r.young[string(id)] = append([]byte(nil), row...)
}

// forget removes a workflow.
func (r *recent) forget(id []byte) {
	delete(r.young, string(id))
	delete(r.old, string(id))
}
