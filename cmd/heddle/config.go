package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// configCmd prints the settings in effect for a command.
type configCmd struct {
	Command []string `arg:"" optional:"" help:"The command whose settings to print, as in: heddle config dev."`
}

// effective is one setting: its value and where it comes from.
type effective struct {
	Name   string `json:"name"`
	Value  any    `json:"value"`
	Source string `json:"source"` // default, a variable, or a place in the settings file
	Help   string `json:"help"`
}

// Run implements the command.
func (c *configCmd) Run(a *app) error {
	node, err := findCommand(a.kong.Model.Node, c.Command)
	if err != nil {
		return err
	}
	all := []effective{}
	seen := map[string]bool{}
	for _, flag := range settingsOf(node) {
		if !seen[flag.Name] {
			seen[flag.Name] = true
			all = append(all, a.effective(flag, strings.Join(c.Command, " ")))
		}
	}
	return a.print(listed[effective]{Items: all}, func(w io.Writer) {
		table := [][]string{{"SETTING", "VALUE", "FROM"}}
		for _, e := range all {
			table = append(table, []string{e.Name, fmt.Sprint(e.Value), e.Source})
		}
		rows(w, table)
	})
}

// settingsOf are the flags of a command, of those above it and of those below
// it that the environment can set; the others are arguments of one call.
func settingsOf(node *kong.Node) []*kong.Flag {
	var all []*kong.Flag
	take := func(flags []*kong.Flag) {
		for _, flag := range flags {
			if len(flag.Envs) > 0 {
				all = append(all, flag)
			}
		}
	}
	for _, flags := range node.AllFlags(true) {
		take(flags)
	}
	var below func(n *kong.Node)
	below = func(n *kong.Node) {
		for _, child := range n.Children {
			take(child.Flags)
			below(child)
		}
	}
	below(node)
	return all
}

func findCommand(root *kong.Node, words []string) (*kong.Node, error) {
	node := root
next:
	for i, word := range words {
		for _, child := range node.Children {
			if child.Name == word {
				node = child
				continue next
			}
		}
		return nil, usageError("there is no command %q", strings.Join(words[:i+1], " "))
	}
	return node, nil
}

// effective finds a flag's value as the command would see it without flags.
func (a *app) effective(flag *kong.Flag, command string) effective {
	e := effective{Name: flag.Name, Help: flag.Help, Value: flag.Default, Source: "default"}
	command, _, _ = strings.Cut(command, " ")
	if name := fromEnvironment(flag); name != "" {
		e.Value, e.Source = os.Getenv(name), name
	} else if v, key := a.file.find(command, flag.Name); key != "" {
		e.Value, e.Source = v, a.file.path+": "+key
	}
	if isSecret(flag.Name) && e.Value != "" {
		e.Value = "(hidden)"
	}
	return e
}

// isSecret reports whether a setting's value must not be shown.
func isSecret(name string) bool {
	return strings.HasSuffix(name, "key") || strings.HasSuffix(name, "password") || name == "archive-store" // whose address may hold one
}
