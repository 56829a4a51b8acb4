package workload

import "fmt"

// Complaint is what must not be of one workflow.
type Complaint struct {
	Workflow string
	Kind     string // the same for all complaints that differ in names and numbers only
	Err      error
}

// Error implements error.
func (c *Complaint) Error() string { return c.Err.Error() }

// Unwrap returns what it is about.
func (c *Complaint) Unwrap() error { return c.Err }

func complain(workflow, format string, args ...any) error {
	return &Complaint{workflow, format, fmt.Errorf(format, args...)}
}
