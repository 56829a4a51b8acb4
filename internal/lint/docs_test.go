package lint

import (
	"go/ast"
	"strings"
	"testing"
)

// obvious are methods whose contract is an interface of the standard library
// that everybody knows.
var obvious = map[string]bool{"Error": true, "String": true, "Unwrap": true, "Is": true, "Len": true, "Less": true, "Swap": true}

func TestEveryPackageHasAComment(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		documented := false
		for _, f := range sources(t, p, false) {
			documented = documented || f.file.Doc != nil
		}
		if !documented {
			t.Errorf("%s has no package comment", p.path())
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range sources(t, p, false) {
			for _, d := range f.file.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Doc == nil && exportedFunc(d) {
						t.Errorf("%s: %s is exported and has no comment", f.at(d), d.Name.Name)
					}
				case *ast.GenDecl:
					checkSpecs(t, f, d)
				}
			}
		}
	}
}

func exportedFunc(d *ast.FuncDecl) bool {
	if !d.Name.IsExported() {
		return false
	}
	return d.Recv == nil || ast.IsExported(receiver(d)) && !obvious[d.Name.Name]
}

func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func checkSpecs(t *testing.T, f *source, d *ast.GenDecl) {
	t.Helper()
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
				t.Errorf("%s: %s is exported and has no comment", f.at(s), s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					t.Errorf("%s: %s is exported and has no comment", f.at(s), name.Name)
				}
			}
		}
	}
}

// maxLines is where a file is too long to be read at once.
const maxLines = 400

// long are files that may be longer, with the reason.
var long = map[string]string{}

func TestFilesAreShort(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range sources(t, p, true) {
			lines := f.fset.File(f.file.Pos()).LineCount()
			if reason, ok := long[f.name]; ok {
				if lines <= maxLines {
					t.Errorf("%s has %d lines and needs no exception (%s)", f.name, lines, reason)
				}
				continue
			}
			if lines > maxLines {
				t.Errorf("%s has %d lines, more than %d: divide it, or give a reason in `long`", f.name, lines, maxLines)
			}
		}
	}
}

func TestNoFileIsNamedUtil(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range sources(t, p, true) {
			for _, no := range []string{"util", "helpers", "misc", "common"} {
				if strings.HasSuffix(f.name, "/"+no+".go") || strings.HasSuffix(p.path(), "/"+no) {
					t.Errorf("%s: name it after what it does", f.name)
				}
			}
		}
	}
}
