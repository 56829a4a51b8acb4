package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/spelling"
)

// putDefinition registers a definition. It answers when this gateway has read
// it back, so that a start behind it finds it.
func (g *Gateway) putDefinition(w http.ResponseWriter, r *http.Request) error {
	name, err := pathValue(r, "name")
	if err != nil {
		return err
	}
	src, err := g.readBody(w, r)
	if err != nil {
		return err
	}
	d, err := definition.Parse(src)
	if err == nil {
		err = d.CheckParams()
	}
	if err != nil {
		return definitionProblem(located(src, err))
	}
	if d.Name != name {
		return refuseField("invalid_definition", "name", fmt.Sprintf("the definition's name is %q, the path says %q", d.Name, name))
	}
	if err := g.ensureQueues(r.Context(), d); err != nil {
		return err
	}
	before, err := g.register(r.Context(), d)
	if err != nil {
		return err
	}
	warnings := d.Warnings
	if before != "" {
		warnings = append(slices.Clone(warnings), definitions.Relabelled(d, before))
	}
	return writeJSON(w, r, http.StatusOK, Definition{
		Name: d.Name, Version: d.Version, Digest: d.Digest, Replaces: before, Warnings: fieldErrors(warnings),
	})
}

// ensureQueues refuses a definition whose queues do not exist, or creates them
// where the configuration allows it.
func (g *Gateway) ensureQueues(ctx context.Context, d *definition.Definition) error {
	err := g.queues.Ensure(ctx, d)
	if unknown, ok := errors.AsType[*definitions.UnknownQueueError](err); ok {
		return refuseField("unknown_queue", "components", unknown.Error())
	}
	return err
}

// register writes a definition and its labels. It returns the digest that its
// version meant before, where that was another.
func (g *Gateway) register(ctx context.Context, d *definition.Definition) (before string, err error) {
	if err := g.syncBook(ctx); err != nil {
		return "", err
	}
	before = g.book.Relabels(d)
	if _, known := g.book.Resolve(d.Digest); !known && g.book.Bytes()+len(d.Canonical()) > g.limits.Definitions {
		return "", refuse("too_many_definitions", fmt.Sprintf("all definitions together would be larger than the limit of %d bytes", g.limits.Definitions))
	}
	for _, rec := range definitions.Records(d) {
		if err := g.requests.Produce(ctx, g.names.Definitions(), rec.Key, rec.Value); err != nil {
			return "", err
		}
	}
	return before, g.syncBook(ctx)
}

// located adds the places in the source to what is wrong with a definition.
func located(src []byte, err error) error {
	if list, ok := errors.AsType[definition.Errors](err); ok {
		return definition.Locate(src, list)
	}
	return err
}

// within puts what is wrong with a definition below its path in a body, with the
// line and column of the body.
func within(sent []byte, err error, below string) error {
	list, ok := errors.AsType[definition.Errors](err)
	if !ok {
		return err
	}
	moved := make(definition.Errors, len(list))
	for i, e := range list {
		e.Path, e.Line, e.Column = strings.Trim(below+"."+e.Path, "."), 0, 0
		moved[i] = e
	}
	return definition.Locate(sent, moved)
}

// definitionProblem names every field at fault.
func definitionProblem(err error) error {
	var list definition.Errors
	if !errors.As(err, &list) {
		return err
	}
	p := refuse("invalid_definition", fmt.Sprintf("the definition has %d errors", len(list)))
	if len(list) == 1 {
		p.Detail = list[0].Error()
	}
	p.Errors = fieldErrors(list)
	return p
}

func fieldErrors(list []definition.Error) []FieldError {
	out := make([]FieldError, 0, len(list))
	for _, e := range list {
		out = append(out, FieldError{Path: e.Path, Message: e.Advice(), Line: e.Line, Column: e.Column})
	}
	return out
}

// lookup finds the definition that the path names.
func (g *Gateway) lookup(r *http.Request) (definitions.Entry, error) {
	ref, err := pathValue(r, "name")
	if err != nil {
		return definitions.Entry{}, err
	}
	if err := g.syncBook(r.Context()); err != nil {
		return definitions.Entry{}, err
	}
	e, ok := g.book.Resolve(ref)
	if !ok {
		return e, refuse("not_found", g.noDefinition(ref))
	}
	return e, nil
}

// maxCompared is among how many names the one that was probably meant is looked for.
const maxCompared = 1000

// noDefinition says that nothing is registered under a name, and which name was probably meant.
func (g *Gateway) noDefinition(ref string) string {
	s := fmt.Sprintf("there is no definition %q", ref)
	names, _ := g.book.Names("", maxCompared)
	if best := spelling.Nearest(ref, names); best != "" {
		s += "; nearest: " + best
	}
	return s
}

func (g *Gateway) getDefinition(w http.ResponseWriter, r *http.Request) error {
	e, err := g.lookup(r)
	if err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, Definition{Name: e.Name, Version: e.Version, Digest: e.Digest, Source: e.Canonical})
}

func (g *Gateway) definitionGraph(w http.ResponseWriter, r *http.Request) error {
	e, err := g.lookup(r)
	if err != nil {
		return err
	}
	d, err := definition.Parse(e.Canonical)
	if err != nil {
		return fmt.Errorf("read registered definition %s: %w", e.Digest, err)
	}
	graph, err := definition.Compile(d)
	if err != nil {
		return fmt.Errorf("compile registered definition %s: %w", e.Digest, err)
	}
	return writeGraph(w, r, func() string { return definition.Mermaid(graph, nil) }, graph.JSON)
}
