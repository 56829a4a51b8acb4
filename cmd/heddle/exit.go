package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/heddle-run/heddle/sdk/client"
)

// The exit codes of the command line.
const (
	codeDone        = 0
	codeFailed      = 1 // a workflow failed, or a command was refused
	codeUsage       = 2
	codeUnreachable = 3
	codeHeld        = 4 // an input waits for a failed workflow to go on
	codeConditions  = 5 // a workflow went on without conditions that could not be evaluated
	codeInterrupted = 130
)

// exitError is an error with the exit code that it means.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usageError says that the command line itself is wrong.
func usageError(format string, args ...any) error {
	return &exitError{codeUsage, fmt.Errorf(format, args...)}
}

// unreachable says that there is nobody to talk to.
func unreachable(err error) error { return &exitError{codeUnreachable, err} }

// usage turns a parser's error into ours, with the command that helps.
func usage(parser *kong.Kong, err error) error {
	var parse *kong.ParseError
	help := parser.Model.Name + " --help"
	if errors.As(err, &parse) && parse.Context != nil {
		words := commandWords(parse.Context.Command())
		// A default command that nobody has named: its parent's help lists those that could have been meant.
		if n := parse.Context.Selected(); n != nil && n.Parent != nil && n.Parent.DefaultCmd == n && !slices.Contains(parse.Context.Args, n.Name) {
			words = strings.TrimSuffix(words, " "+n.Name)
		}
		if words != "" {
			help = parser.Model.Name + " " + words + " --help"
		}
	}
	// Kong names the end of the command line by its token.
	if flag, _, missing := strings.Cut(err.Error(), ": expected "); missing && strings.HasSuffix(err.Error(), `"EOL" (<EOL>)`) {
		return usageError("%s has no value behind it\nsee: %s", flag, help)
	}
	return usageError("%w\nsee: %s", err, help)
}

// commandWords are the command's words in kong's path, without its arguments.
func commandWords(path string) string {
	var words []string
	for _, w := range strings.Fields(path) {
		if strings.HasPrefix(w, "<") || strings.HasPrefix(w, "[") {
			break
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// report prints err, if any, and returns the exit code that it means.
func report(w io.Writer, err error) int {
	if err == nil {
		return codeDone
	}
	fmt.Fprintln(w, "heddle: "+told(err))
	if errors.Is(err, &client.Error{Code: "unauthenticated"}) {
		fmt.Fprintln(w, "  a key is given by HEDDLE_API_KEY, --api-key-file or --api-key")
	}
	return codeOf(err)
}

// codeOf is the exit code that an error means.
func codeOf(err error) int {
	var coded *exitError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, client.ErrUnavailable):
		return codeUnreachable
	}
	return codeFailed
}

// told is an error for a person. What failed a workflow is of one line, whatever
// its task wrote.
func told(err error) string {
	if _, ok := errors.AsType[*client.FailedError](err); ok {
		return shown(err.Error())
	}
	return paragraph(err.Error())
}
