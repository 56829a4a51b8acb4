package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// comments are what the Go source says of types and of their fields.
type comments struct {
	types  map[string]string
	fields map[string]map[string]string // of a type, by the name of the field in lower case
	embeds map[string][]string
}

// readComments reads the sources of a directory.
func readComments(dir string) (*comments, error) {
	c := &comments{types: map[string]string{}, fields: map[string]map[string]string{}, embeds: map[string][]string{}}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				c.declared(g)
			}
		}
	}
	return c, nil
}

func (c *comments) declared(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		name := t.Name.Name
		c.types[name] = oneLine(g.Doc)
		s, ok := t.Type.(*ast.StructType)
		if !ok {
			continue
		}
		c.fields[name] = map[string]string{}
		for _, f := range s.Fields.List {
			text := oneLine(f.Doc)
			if text == "" {
				text = oneLine(f.Comment)
			}
			for _, n := range f.Names {
				c.fields[name][strings.ToLower(n.Name)] = text
			}
			if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 {
				c.embeds[name] = append(c.embeds[name], id.Name)
			}
		}
	}
}

// renamed are fields that JSON has under another name, or with the opposite value.
var renamed = map[string]string{
	"TaskError.retryable": "whether another attempt may succeed",
}

// field is what is said of a field of a message; an error if there is no such field.
func (c *comments) field(message, name string) (string, error) {
	if text, ok := renamed[message+"."+name]; ok {
		return text, nil
	}
	for _, of := range append([]string{message}, c.embeds[message]...) {
		if text, ok := c.fields[of][strings.ToLower(name)]; ok {
			return text, nil
		}
	}
	return "", fmt.Errorf("no field of %s is %s in JSON", message, name)
}

func oneLine(g *ast.CommentGroup) string {
	if g == nil {
		return ""
	}
	return strings.Join(strings.Fields(g.Text()), " ")
}
