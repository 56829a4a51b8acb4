// Command framegen writes what is published of the runner protocol, as its messages describe
// themselves: framegen PROTO ASYNCAPI TYPESCRIPT SCHEMA. It runs in the directory of package frames, out of whose comments the
// descriptions come.
package main

import (
	"fmt"
	"os"

	"github.com/heddle-run/heddle/shared/frames"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: framegen PROTO ASYNCAPI TYPESCRIPT SCHEMA")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "framegen:", err)
		os.Exit(1)
	}
}

func write(proto, document, module, table string) error {
	api, err := asyncAPI(".")
	if err != nil {
		return err
	}
	script, err := typeScript(".")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{proto: frames.Schema(), document: api, module: script, table: schema()} { // order: files of their own
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
