package kafkaclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/definition"
)

// define checks a definition here, creates the queues that are missing where
// the cluster allows it, and writes the definition to its topic.
func (t *transport) Define(ctx context.Context, name string, source []byte) (*client.Definition, error) {
	d, err := definition.Parse(source)
	if err != nil {
		return nil, definitionError(err)
	}
	if d.Name != name {
		return nil, &client.Error{Code: "invalid_definition", Path: "name", Message: fmt.Sprintf("the definition's name is %q, not %q", d.Name, name)}
	}
	names, err := t.config.Names()
	if err != nil {
		return nil, err
	}
	ctx, cancel := bounded(ctx, sendTimeout)
	defer cancel()
	if err := t.ensureQueues(ctx, d); err != nil {
		return nil, err
	}
	before, err := t.relabels(ctx, d)
	if err != nil {
		return nil, err
	}
	for _, r := range definitions.Records(d) {
		if err := t.requests.Produce(ctx, names.Definitions(), r.Key, r.Value); err != nil {
			return nil, fault(err)
		}
	}
	t.remember(d)
	out := &client.Definition{DefinitionRef: client.DefinitionRef{Name: d.Name, Version: d.Version, Digest: d.Digest}, Replaces: before}
	warnings := d.Warnings
	if before != "" {
		warnings = append(slices.Clone(warnings), definitions.Relabelled(d, before))
	}
	for _, w := range warnings {
		out.Warnings = append(out.Warnings, client.FieldError{Path: w.Path, Message: w.Advice()})
	}
	return out, nil
}

// relabels is the digest that the definition's version means so far, where that is
// another one. Only a caller that gives a version has to read for it.
func (t *transport) relabels(ctx context.Context, d *definition.Definition) (string, error) {
	if d.Version == "" {
		return "", nil
	}
	book, err := definitions.Open(ctx, t.config)
	if err != nil {
		return "", fault(err)
	}
	defer book.Close()
	return book.Relabels(d), nil
}

// ensureQueues creates the topics of the task queues that a definition names:
// its tasks would wait for ever otherwise.
func (t *transport) ensureQueues(ctx context.Context, d *definition.Definition) error {
	set, err := topics.Default().Set(topics.Options{Prefix: t.config.Prefix})
	if err != nil {
		return err
	}
	admin, err := kafka.NewAdmin(t.config)
	if err != nil {
		return err
	}
	defer admin.Close()
	err = definitions.NewQueues(set, admin, true).Ensure(ctx, d)
	if unknown, ok := errors.AsType[*definitions.UnknownQueueError](err); ok {
		return &client.Error{Code: "unknown_queue", Path: "components", Message: unknown.Error()}
	}
	return err
}

// prepare sees to the queues of an inline definition when it is started first.
// One that is none goes to the planner, which says what is wrong with it.
func (t *transport) Prepare(ctx context.Context, inline string) error {
	digest := sha256.Sum256([]byte(inline))
	t.mu.Lock()
	prepared := t.prepared[digest]
	t.mu.Unlock()
	if prepared {
		return nil
	}
	d, err := definition.Parse([]byte(inline))
	if err != nil {
		return nil // no error of ours
	}
	ctx, cancel := bounded(ctx, sendTimeout)
	defer cancel()
	if err := t.ensureQueues(ctx, d); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.prepared) >= maxOwn {
		clear(t.prepared)
	}
	t.prepared[digest] = true
	return nil
}

func definitionError(err error) error {
	var list definition.Errors
	if !errors.As(err, &list) {
		return err
	}
	out := &client.Error{Code: "invalid_definition", Message: fmt.Sprintf("the definition has %d errors", len(list))}
	for _, e := range list {
		out.Errors = append(out.Errors, client.FieldError{Path: e.Path, Message: e.Advice(), Line: e.Line, Column: e.Column})
	}
	return out
}

// maxOwn bounds the definitions that a client remembers as its own, and the
// inline ones that it has prepared.
const maxOwn = 256

func (t *transport) remember(d *definition.Definition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.own) >= maxOwn {
		clear(t.own)
	}
	t.own[d.Name] = ownDefinition{d.Digest, d.Canonical()}
	if d.Version != "" {
		t.own[d.Name+"@"+d.Version] = ownDefinition{d.Digest, d.Canonical()}
	}
}

func (t *transport) Defined(ref string) (string, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.own[ref]
	return d.digest, d.canonical
}
