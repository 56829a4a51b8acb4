package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/search"
)

// Filter chooses workflows of a list, newest first: those that fit each of its fields. A
// zero field fits all.
type Filter struct {
	Status     Status
	Definition string            // a name, name@version or digest
	Labels     map[string]string // by name; what is no text is compared as JSON
	Error      string            // the type of a failure, as timeout
	Component  string            // the component of a failure; where Error is given too, of the same one

	// Text is words, each of which occurs, whatever its case, in the ID, the definition's
	// name, a label, or a failure's component, type or message.
	Text string

	CreatedAfter, CreatedBefore time.Time
	UpdatedAfter, UpdatedBefore time.Time

	// Archived has the list go on, behind the workflows, with the runs that an archive keeps and the deployment has no
	// more, in the order of their IDs; each says so (Workflow.Archived). It is no part of what is chosen.
	Archived bool

	// Which page of the list; both are no part of what is chosen.
	Cursor string // Next of the page before; empty: the first
	Limit  int    // 0: the default
}

// ParseFilter reads a filter from a text, as --where of the command line has it:
// status=failed error=timeout label.customer=acme q="card declined". Times in it are
// those of RFC 3339, or how long ago, as 24h or 7d. Its error is an *Error.
func ParseFilter(where string) (Filter, error) {
	f, err := search.ParseWhere(where, time.Now())
	if bad, ok := errors.AsType[*search.Error](err); ok {
		return Filter{}, &Error{Code: "invalid_parameter", Path: bad.Name, Message: bad.Message}
	}
	return Filter{
		Status: Status(f.Status), Definition: f.Definition, Labels: f.Labels, Error: f.Error, Component: f.Component, Text: f.Text,
		CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore, UpdatedAfter: f.UpdatedAfter, UpdatedBefore: f.UpdatedBefore,
	}, err
}

func (f *Filter) search() search.Filter {
	return search.Filter{
		Status: string(f.Status), Definition: f.Definition, Labels: f.Labels, Error: f.Error, Component: f.Component, Text: f.Text,
		CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore, UpdatedAfter: f.UpdatedAfter, UpdatedBefore: f.UpdatedBefore,
	}
}

// String is the filter as ParseFilter reads it, without its page; empty where it chooses
// all.
func (f Filter) String() string { return f.search().String() }

// List lists workflows. It is answered from the gateway's view, which follows
// the planners within moments.
func (c *Client) List(ctx context.Context, f Filter) (*Page[Workflow], error) {
	raw, err := c.t.List(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return decode[*Page[Workflow]]("list", raw)
}
