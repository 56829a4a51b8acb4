// Command protogen writes the published schema, as the messages describe
// themselves: protogen FILE.
package main

import (
	"fmt"
	"os"

	"github.com/heddle-run/heddle/shared/events"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: protogen FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(events.Schema()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}
