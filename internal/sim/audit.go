package sim

// audit holds what a run has left against what must be.
func (w *world) audit() {
	for _, u := range w.users {
		if err := u.wf.Check(u.results); err != nil {
			w.fail("results: %w", err)
		}
	}
}
