package definition

import "github.com/santhosh-tekuri/jsonschema/v6"

// Limits of checking one input. References let a small schema visit the same value again and again: twice at each level
// is 2ⁿ times.
const (
	maxSchemaSteps = 1_000_000 // a schema at a value, or a byte that a pattern reads
	maxSchemaNests = 2_000     // schemas within each other at a value
)

// affordable reports whether validating v takes a bounded number of steps. It takes at most as many itself.
func affordable(s *jsonschema.Schema, v any) bool {
	b := budget{left: maxSchemaSteps}
	b.visit(s, v, 0)
	return b.left >= 0
}

// budget counts what the validator would do, at worst.
type budget struct{ left int }

func (b *budget) visit(s *jsonschema.Schema, v any, nests int) {
	if s == nil || b.left < 0 {
		return
	}
	if b.left--; nests > maxSchemaNests {
		b.left = -1
	}
	for _, at := range []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else} {
		b.visit(at, v, nests+1)
	}
	if s.DynamicRef != nil {
		b.visit(s.DynamicRef.Ref, v, nests+1)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		b.all(list, v, nests)
	}
	switch v := v.(type) {
	case map[string]any:
		b.object(s, v, nests)
	case []any:
		b.list(s, v, nests)
	case string:
		if s.Pattern != nil {
			b.left -= len(v)
		}
	}
}

func (b *budget) all(list []*jsonschema.Schema, v any, nests int) {
	for _, s := range list {
		b.visit(s, v, nests+1)
	}
}

// maybe visits what may be a schema, or something else.
func (b *budget) maybe(s, v any, nests int) {
	if s, ok := s.(*jsonschema.Schema); ok {
		b.visit(s, v, nests+1)
	}
}

func (b *budget) object(s *jsonschema.Schema, object map[string]any, nests int) {
	for _, at := range s.DependentSchemas { // order: a sum
		b.visit(at, object, nests+1)
	}
	for _, at := range s.Dependencies { // order: a sum
		b.maybe(at, object, nests)
	}
	for name, v := range object { // order: a sum
		b.visit(s.PropertyNames, name, nests+1)
		if at, declared := s.Properties[name]; declared {
			b.visit(at, v, nests+1)
		} else {
			b.maybe(s.AdditionalProperties, v, nests)
		}
		b.visit(s.UnevaluatedProperties, v, nests+1)
		for _, at := range s.PatternProperties { // order: a sum
			b.left -= len(name)
			b.visit(at, v, nests+1)
		}
	}
}

func (b *budget) list(s *jsonschema.Schema, list []any, nests int) {
	tuple, _ := s.Items.([]*jsonschema.Schema)
	tuple = append(tuple[:len(tuple):len(tuple)], s.PrefixItems...)
	for i, v := range list {
		if i < len(tuple) {
			b.visit(tuple[i], v, nests+1)
		}
		b.maybe(s.Items, v, nests)
		b.maybe(s.AdditionalItems, v, nests)
		for _, at := range []*jsonschema.Schema{s.Items2020, s.Contains, s.UnevaluatedItems} {
			b.visit(at, v, nests+1)
		}
	}
}
