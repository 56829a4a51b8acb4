package main

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the examples in a directory that is removed behind them.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "embedded")
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Run again on the same directory, it does the same again.
func Example() {
	main()
	main()
	// Output:
	// hello ann <nil>
	// hello ann <nil>
}
