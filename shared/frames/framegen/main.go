// Command framegen writes what is published of the runner protocol, as its messages describe
// themselves: framegen PROTO ASYNCAPI. It runs in the directory of package frames, out of whose comments the
// descriptions come.
package main

import (
	"fmt"
	"os"

	"github.com/heddle-run/heddle/shared/frames"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: framegen PROTO ASYNCAPI")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "framegen:", err)
		os.Exit(1)
	}
}

func write(proto, document string) error {
	text, err := asyncAPI(".")
	if err != nil {
		return err
	}
	if err := os.WriteFile(proto, []byte(frames.Schema()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(document, []byte(text), 0o644)
}
