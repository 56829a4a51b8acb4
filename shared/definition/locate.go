package definition

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Locate adds to each error the line and column of its path in the source. A path that
// the source does not have, as that of a missing field, is at what should have it. JSON
// is read as YAML, which it is; a source that cannot be read has no places.
func Locate(src []byte, errs Errors) Errors {
	if len(errs) == 0 || len(src) > MaxSource || notUTF8(src) != nil {
		return errs
	}
	root, err := yamlDocument(src)
	if err != nil {
		return errs
	}
	out := slices.Clone(errs)
	for i := range out {
		e := &out[i]
		if e.Line == 0 && e.Path != "" {
			at := placeOf(root, root, e.Path)
			e.Line, e.Column = at.Line, at.Column
		}
	}
	return out
}

// placeOf is the node of a path below value; at is the node that stands for value, its
// key if it has one. Names may have dots, so the longest that fits is taken.
func placeOf(at, value *yaml.Node, path string) *yaml.Node {
	path = strings.TrimPrefix(path, ".")
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch {
	case path == "":
	case value.Kind == yaml.MappingNode:
		if key, below, rest := memberOf(value, path); key != nil {
			return placeOf(key, below, rest)
		}
	case value.Kind == yaml.SequenceNode:
		if item, rest := itemOf(value, path); item != nil {
			return placeOf(item, item, rest)
		}
	}
	return at
}

// memberOf is the member of an object that a path begins with, and the rest of the path.
func memberOf(object *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	longest := -1
	for i := 0; i+1 < len(object.Content); i += 2 {
		name := shortened(object.Content[i].Value)
		after, is := strings.CutPrefix(path, name)
		if !is || after != "" && after[0] != '.' && after[0] != '[' || len(name) < longest {
			continue
		}
		longest = len(name)
		key, value, rest = object.Content[i], object.Content[i+1], after // of one that is given twice the later
	}
	return key, value, rest
}

// itemOf is the item of a list that a path begins with.
func itemOf(list *yaml.Node, path string) (item *yaml.Node, rest string) {
	number, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n >= len(list.Content) {
		return nil, ""
	}
	return list.Content[n], rest
}
