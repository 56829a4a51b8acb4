package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-run/heddle/examples/orders"
	"github.com/heddle-run/heddle/internal/dev/demo"
)

// demoCmd plays the order example.
type demoCmd struct {
	Eject    string `env:"-" placeholder:"DIR" help:"Write the example's files to a directory instead, to go on from there."`
	LogLevel string `enum:"debug,info,warn,error" default:"error" help:"Least level that is logged: ${enum}."`
}

// Run implements the command.
func (c *demoCmd) Run(a *app) error {
	if c.Eject != "" {
		return eject(a, c.Eject)
	}
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program, to run the planner: %w", err)
	}
	log := logging{LogLevel: c.LogLevel}
	return demo.Run(a, demo.Options{
		Out: a.out, Terminal: isTerminal(a.out), Logger: log.logger(a),
		Planner: []string{own, "planner", "--log-level=" + c.LogLevel},
	})
}

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// The example's packages are named by the module that they are ejected into.
const (
	exampleModule = "github.com/heddle-run/heddle/examples/orders"
	ejectedModule = "orders"
)

// eject writes the example as a module of its own. Files that exist stay.
func eject(a *app, dir string) error {
	err := fs.WalkDir(orders.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := orders.Files.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(b), exampleModule, ejectedModule)
		return writeNew(filepath.Join(dir, path), text)
	})
	if err == nil {
		err = writeNew(filepath.Join(dir, "go.mod"), "module "+ejectedModule+"\n\ngo 1.26\n")
	}
	if err != nil {
		return fmt.Errorf("writing the example: %w", err)
	}
	fmt.Fprintf(a.out, "The example is in %s; README.md says how to run it. Its Go programs need: go get github.com/heddle-run/heddle\n", dir)
	return nil
}

func writeNew(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
