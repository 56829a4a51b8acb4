package definition

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/heddle-run/heddle/shared/policy"
)

// schemaJSON is the published schema without what the tables say: the kinds of components and the fields of a policy.
//
//go:embed schema.json
var schemaJSON []byte

var schemaText = sync.OnceValue(func() []byte {
	text, err := json.MarshalIndent(schemaDocument(), "", "  ")
	if err != nil {
		panic("definition: schema: " + err.Error())
	}
	return append(text, '\n')
})

// Schema is the published JSON Schema of definitions. The caller must not change it.
func Schema() []byte { return schemaText() }

// schemaDocument is the published schema.
func schemaDocument() map[string]any {
	doc := fromJSON(schemaJSON).(map[string]any)
	defs := doc["$defs"].(map[string]any)
	maps.Copy(propertiesOf(defs["policyFields"]), policy.Properties())

	component, names := defs["component"].(map[string]any), []any{}
	var one []any
	for _, k := range policy.Kinds() {
		names = append(names, k.String())
		for _, f := range kinds[k].fields {
			one = append(one, onlyKind(k, f.name))
		}
		for _, f := range slices.Concat(kinds[k].fields, kinds[k].own) {
			at, schema := propertiesOf(component), fromJSON([]byte(f.schema))
			if other := at[f.name]; other != nil { // two kinds have a field of that name
				schema = map[string]any{"anyOf": []any{other, schema}}
			}
			at[f.name] = schema
		}
	}
	component["oneOf"] = one
	defs["kind"] = map[string]any{"enum": names}
	return doc
}

// onlyKind wants a field that makes a component one of a kind. Where another kind has it as one of
// its own fields, it must not be of that one.
func onlyKind(k policy.Kind, name string) map[string]any {
	only := map[string]any{"required": []any{name}}
	var others []any
	for _, other := range policy.Kinds() {
		if other == k || !kinds[other].own.has(name) {
			continue
		}
		for _, f := range kinds[other].fields {
			others = append(others, map[string]any{"required": []any{f.name}})
		}
	}
	if others != nil {
		only["not"] = map[string]any{"anyOf": others}
	}
	return only
}

func propertiesOf(schema any) map[string]any {
	return schema.(map[string]any)["properties"].(map[string]any)
}

func fromJSON(text []byte) any {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic("definition: schema: " + err.Error())
	}
	return doc
}

var published = sync.OnceValue(func() *jsonschema.Schema {
	schema, err := compileSchema(fromJSON(Schema()))
	if err != nil {
		panic("definition: schema: " + err.Error())
	}
	return schema
})

// withSchema adds what the published schema refuses. The rules word most of it better, so a path that they speak of, or
// anything above or below it, is left to them.
func withSchema(errs Errors, root any) Errors {
	err := published().Validate(root)
	if err == nil {
		return errs
	}
	ruled := errs
	for _, e := range schemaErrors(err, "") {
		e.Path = strings.TrimPrefix(e.Path, ".")
		if !related(ruled, e.Path) {
			errs = collect(errs, e)
		}
	}
	return errs
}

func related(errs Errors, path string) bool {
	for _, e := range errs {
		if strings.HasPrefix(e.Path, path) || strings.HasPrefix(path, e.Path) {
			return true
		}
	}
	return false
}
