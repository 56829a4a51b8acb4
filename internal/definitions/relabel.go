package definitions

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/definition"
)

// Relabels is the digest that the version of d means so far, where that is another
// definition; empty where it is none. One without a version takes nobody's place.
func (b *Book) Relabels(d *definition.Definition) string {
	if d.Version == "" {
		return ""
	}
	e, ok := b.Resolve(d.Name + "@" + d.Version)
	if !ok || e.Digest == d.Digest {
		return ""
	}
	return e.Digest
}

// Relabelled is the warning that a version meant another definition until now.
func Relabelled(d *definition.Definition, before string) definition.Error {
	return definition.Error{
		Path:    "version",
		Message: fmt.Sprintf("%s@%s was %s and is %s from now on", d.Name, d.Version, before, d.Digest),
		Fix:     "give a changed definition a version of its own; workflows that run keep the one that they began with",
	}
}
