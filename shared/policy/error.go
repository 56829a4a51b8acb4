package policy

import "strings"

// Error is one thing that is wrong with rules or a definition, and how to mend it.
type Error struct {
	Path    string // as in components.a.after[0]; empty = the whole
	Message string
	Fix     string // what to write instead; may be empty
}

func (e Error) Error() string {
	s := e.Message
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Fix != "" {
		s += " (" + e.Fix + ")"
	}
	return s
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
