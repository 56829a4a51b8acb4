package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/expr"
)

// Definition is a definition that has been read and checked. It is immutable.
type Definition struct {
	Digest   string  // SHA-256 of the canonical form: "sha256:" + hex
	Name     string  // a label that resolves to the digest
	Version  string  // likewise; empty if none is given
	Warnings []Error // what is legal but looks like a mistake

	canonical []byte
	tree      map[string]any
}

// Canonical is the canonical form: the given model as JSON with sorted keys. Parse of it gives the same definition. The
// caller must not change it.
func (d *Definition) Canonical() []byte { return d.canonical }

// Parse reads a definition in JSON or YAML 1.2 and checks it whole: it is well-formed, fits the published schema and
// the rules of the workflow model, and Compile will succeed. Its error is Errors with everything that is wrong.
func Parse(src []byte) (*Definition, error) {
	d, errs := parse(src)
	if errs != nil {
		return nil, Locate(src, errs)
	}
	return d, nil
}

func parse(src []byte) (*Definition, Errors) {
	if errs := notUTF8(src); errs != nil {
		return nil, errs
	}
	v, errs := readTree(src)
	if errs != nil {
		return nil, errs
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, Errors{{Message: "a definition must be an object", Fix: "write name: … and components: …"}}
	}
	d := &Definition{tree: root}
	canonical, err := expr.Append(nil, root)
	if err != nil {
		return nil, Errors{{Message: err.Error()}}
	}
	if len(canonical) > MaxCanonical {
		return nil, Errors{{Message: fmt.Sprintf("the definition has %d bytes, more than %d", len(canonical), MaxCanonical),
			Fix: "split the workflow, or move data out of params"}}
	}
	d.canonical = canonical
	sum := sha256.Sum256(canonical)
	d.Digest = "sha256:" + hex.EncodeToString(sum[:])
	g, errs := compile(d, Numbering{})
	if errs = withSchema(errs, root); errs != nil {
		return nil, errs
	}
	d.Name, d.Version = g.Name, g.Version
	d.Warnings = warnings(g)
	return d, nil
}

// Compile builds the graph of a definition.
func Compile(d *Definition) (*Graph, error) { return CompileAs(d, Numbering{}) }

// CompileAs is Compile where names have numbers already; names without one get those behind.
func CompileAs(d *Definition, n Numbering) (*Graph, error) {
	g, errs := compile(d, n)
	if errs != nil {
		return nil, errs
	}
	return g, nil
}

func compile(d *Definition, n Numbering) (*Graph, Errors) {
	r := decoder{}
	spec := r.definition(d.tree)
	spec.number(n.Components)
	b := builder{spec: spec, errs: r.errs, signalNames: n.Signals, graph: &Graph{
		Digest: d.Digest, Name: spec.name, Version: spec.version, Options: spec.options, Rules: spec.rules, input: spec.input, context: spec.context,
	}}
	b.build()
	slices.SortStableFunc(b.errs, func(a, b Error) int { return strings.Compare(a.Path, b.Path) })
	return b.graph, b.errs
}
