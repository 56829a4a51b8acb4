package workload

import "fmt"

// Complaint is what must not be of one workflow.
type Complaint struct {
	Workflow string
	Err      error
}

// Error implements error.
func (c *Complaint) Error() string { return c.Err.Error() }

// Unwrap returns what it is about.
func (c *Complaint) Unwrap() error { return c.Err }

func complain(workflow, format string, args ...any) error {
	return &Complaint{workflow, fmt.Errorf(format, args...)}
}
