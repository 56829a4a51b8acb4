// Command framegen writes the published schema of binary frames, as the messages describe
// themselves: framegen FILE.
package main

import (
	"fmt"
	"os"

	"github.com/heddle-run/heddle/shared/frames"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: framegen FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(frames.Schema()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "framegen:", err)
		os.Exit(1)
	}
}
