package policy

import "strings"

// Error is one thing that is wrong with rules or a definition, and how to fix it.
type Error struct {
	Path    string // as in components.a.after[0]; empty = the whole
	Message string
	Fix     string // what to write instead; may be empty

	Line, Column int // in the source, from 1; 0 = not known
}

func (e Error) Error() string {
	if e.Path == "" {
		return e.Advice()
	}
	return e.Path + ": " + e.Advice()
}

// Advice is what is wrong and the fix, for callers that tell the path otherwise.
func (e Error) Advice() string {
	if e.Fix == "" {
		return e.Message
	}
	return e.Message + " (" + e.Fix + ")"
}

// Errors is everything that is wrong, in the order of the paths.
type Errors []Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}
