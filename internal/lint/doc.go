// Package lint holds what a compiler does not check: which package may import
// which (the table in layers.go), that pure packages are pure, that topic names
// are spelled in one place, that exported names are documented, that laws are named
// where they are kept, and that files stay short. Its tests compare the tables with the code.
//
// A rule with an exception names the reason beside it.
package lint
