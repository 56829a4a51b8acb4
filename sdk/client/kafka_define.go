package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/shared/definition"
)

// define checks a definition here and writes it to the definitions topic.
func (t *kafkaTransport) define(ctx context.Context, name string, source []byte) (*Definition, error) {
	d, err := definition.Parse(source)
	if err != nil {
		return nil, definitionError(err)
	}
	if d.Name != name {
		return nil, &Error{Code: "invalid_definition", Path: "name", Message: fmt.Sprintf("the definition's name is %q, not %q", d.Name, name)}
	}
	names, err := t.o.Kafka.Names()
	if err != nil {
		return nil, err
	}
	ctx, cancel := bounded(ctx, sendTimeout)
	defer cancel()
	for _, r := range definitions.Records(d) {
		if err := t.asker.Produce(ctx, names.Definitions(), r.Key, r.Value); err != nil {
			return nil, fault(err)
		}
	}
	t.remember(d)
	out := &Definition{DefinitionRef: DefinitionRef{Name: d.Name, Version: d.Version, Digest: d.Digest}}
	for _, w := range d.Warnings {
		out.Warnings = append(out.Warnings, FieldError{Path: w.Path, Message: w.Message})
	}
	return out, nil
}

func definitionError(err error) error {
	var list definition.Errors
	if !errors.As(err, &list) {
		return err
	}
	out := &Error{Code: "invalid_definition", Message: fmt.Sprintf("the definition has %d errors", len(list))}
	for _, e := range list {
		message := e.Message
		if e.Fix != "" {
			message += " (" + e.Fix + ")"
		}
		out.Errors = append(out.Errors, FieldError{Path: e.Path, Message: message})
	}
	return out
}

// maxOwn bounds the definitions that a client remembers as its own.
const maxOwn = 256

func (t *kafkaTransport) remember(d *definition.Definition) {
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

func (t *kafkaTransport) defined(ref string) (string, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.own[ref]
	return d.digest, d.canonical
}
