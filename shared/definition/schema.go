package definition

import (
	"bytes"
	_ "embed"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema.json
var schemaJSON []byte

// Schema is the published JSON Schema of definitions. The caller must not change it.
func Schema() []byte { return schemaJSON }

var published = mustCompilePublished()

func mustCompilePublished() *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaJSON))
	if err != nil {
		panic("definition: schema.json: " + err.Error())
	}
	schema, err := compileSchema(doc)
	if err != nil {
		panic("definition: schema.json: " + err.Error())
	}
	return schema
}

// withSchema adds what the published schema refuses. The rules word most of it better, so a path that they speak of, or
// anything above or below it, is left to them.
func withSchema(errs Errors, root any) Errors {
	err := published.Validate(root)
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
