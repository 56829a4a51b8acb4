package definition

import (
	"maps"
	"slices"

	"github.com/heddle-run/heddle/shared/expr"
)

const maxSchemaDepth = 64 // of defaults, against schemas that refer to themselves

// withDefaults fills in the defaults that a schema gives for absent properties: through properties, items, prefixItems,
// allOf and local references. root is the whole schema. It changes v, which the caller owns.
func withDefaults(root, schema, v any, depth int) (_ any, changed bool) {
	s, ok := schema.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return v, false
	}
	sub := func(schema, v any) any {
		v, did := withDefaults(root, schema, v, depth+1)
		changed = changed || did
		return v
	}
	if ref, ok := s["$ref"].(string); ok {
		v = sub(expr.ResolveRef(root, ref), v)
	}
	all, _ := s["allOf"].([]any)
	for _, part := range all {
		v = sub(part, v)
	}
	switch v := v.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			_, present := v[name]
			value, given := defaultOf(root, properties[name])
			switch {
			case present:
				v[name] = sub(properties[name], v[name])
			case given:
				v[name], changed = sub(properties[name], value), true
			}
		}
	case []any:
		prefix, _ := s["prefixItems"].([]any)
		for i := range v {
			if i < len(prefix) {
				v[i] = sub(prefix[i], v[i])
			} else {
				v[i] = sub(s["items"], v[i])
			}
		}
	}
	return v, changed
}

// defaultOf is a copy of the default that a schema, or what it refers to, gives.
func defaultOf(root, schema any) (any, bool) {
	for range maxSchemaDepth {
		s, ok := schema.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, given := s["default"]; given {
			return cloned(v), true
		}
		ref, ok := s["$ref"].(string)
		if !ok {
			return nil, false
		}
		schema = expr.ResolveRef(root, ref)
	}
	return nil, false
}

func cloned(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cloned(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = cloned(v[k])
		}
		return out
	}
	return v
}

// hasDefaults reports whether a schema gives any default.
func hasDefaults(schema any) bool {
	switch s := schema.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(s)) {
			if k == "default" || hasDefaults(s[k]) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(s, hasDefaults)
	}
	return false
}
