package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"

	"github.com/heddle-run/heddle/shared/spelling"
)

// defaultSettings is read when no settings file is named, if it exists.
const defaultSettings = "heddle.yaml"

// settingsFile resolves flags from a YAML file: a flag's name at the top, or
// under the first word of its command, which goes first. What the environment
// sets is left alone.
type settingsFile struct {
	path   string
	values map[string]any // by normal name; a command's section is such a map again
	loaded bool
	failed error // why the file cannot be used; kong would blame the flag that it was read for
}

// Validate implements kong.Resolver.
func (f *settingsFile) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (f *settingsFile) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "config" || flag.Name == "help" || fromEnvironment(flag) != "" {
		return nil, nil
	}
	if f.load(ctx) != nil {
		return nil, nil
	}
	command, _, _ := strings.Cut(ctx.Command(), " ")
	v, _ := f.find(command, flag.Name)
	return v, nil
}

// find looks a flag up and tells the key it stands under, empty if under none.
func (f *settingsFile) find(command, flag string) (value any, key string) {
	if section, ok := f.values[command].(map[string]any); ok {
		if v, ok := section[flag]; ok {
			return v, command + "." + flag
		}
	}
	if v, ok := f.values[flag]; ok {
		return v, flag
	}
	return nil, ""
}

// load reads the file once. Its error is a usage error that names the file.
func (f *settingsFile) load(ctx *kong.Context) error {
	if !f.loaded {
		f.loaded = true
		if err := f.read(ctx); err != nil {
			f.failed = usageError("%w", err)
		}
	}
	return f.failed
}

func (f *settingsFile) read(ctx *kong.Context) error {
	path, named := settingsPath(ctx)
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the settings file: %w", err)
	}
	values, err := settingsIn(src)
	if err != nil {
		return fmt.Errorf("settings file %s: %w", path, err)
	}
	f.path = path
	return f.accept(values, knownSettings(ctx.Model.Node))
}

// settingsIn reads the values of a settings file.
func settingsIn(src []byte) (values map[string]any, err error) {
	loader, err := yaml.NewLoader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	err = loader.Load(&document)
	if errors.Is(err, io.EOF) { // nothing, or comments only
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !errors.Is(loader.Load(&yaml.Node{}), io.EOF) {
		return nil, errors.New("it has more than one document")
	}
	keepTexts(&document)
	return values, document.Load(&values)
}

// integer is a number that is a text of the same digits.
var integer = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})$`)

// keepTexts makes texts of the plain scalars that the library would make other texts of:
// a secret may consist of digits, and 012 is ten to YAML 1.1. Flags read numbers from texts.
func keepTexts(n *yaml.Node) {
	switch n.ShortTag() {
	case "!!int", "!!float", "!!timestamp":
		if n.Kind == yaml.ScalarNode && !integer.MatchString(n.Value) {
			n.Tag = "!!str"
		}
	}
	for _, child := range n.Content {
		keepTexts(child)
	}
}

func settingsPath(ctx *kong.Context) (path string, named bool) {
	for _, flag := range ctx.Model.Flags {
		if flag.Name != "config" {
			continue
		}
		if s, ok := ctx.FlagValue(flag).(string); ok && s != "" {
			return s, true
		}
	}
	return defaultSettings, false
}

// accept keeps the values under their normal names. A key that no command has
// is refused: a misspelt setting must not be ignored.
func (f *settingsFile) accept(values map[string]any, known map[string]map[string]bool) error {
	f.values = map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name := normal(key)
		section, isSection := values[key].(map[string]any)
		if flags, isCommand := known[name]; isCommand && isSection {
			kept := map[string]any{}
			for _, k := range slices.Sorted(maps.Keys(section)) {
				if !flags[normal(k)] {
					return fmt.Errorf("settings file %s: %s.%s is no setting%s", f.path, key, k, meant(k, flags))
				}
				kept[normal(k)] = section[k]
			}
			f.values[name] = kept
			continue
		}
		if !known[""][name] {
			return fmt.Errorf("settings file %s: %s is no setting%s", f.path, key, meant(key, known[""]))
		}
		f.values[name] = values[key]
	}
	return nil
}

// meant says which setting was probably meant by one that there is not.
func meant(key string, known map[string]bool) string {
	best := spelling.Meant(normal(key), slices.Sorted(maps.Keys(known)))
	return cmp.Or(best, "; --help of a command lists its flags, which are its settings")
}

// normal is a setting's name as its flag is written.
func normal(key string) string { return strings.ReplaceAll(key, "_", "-") }

// knownSettings are the flags by the first word of their command, and under ""
// all flags.
func knownSettings(root *kong.Node) map[string]map[string]bool {
	known := map[string]map[string]bool{"": {}}
	var walk func(n *kong.Node, command string)
	walk = func(n *kong.Node, command string) {
		if known[command] == nil {
			known[command] = map[string]bool{}
		}
		for _, flag := range n.Flags {
			known[command][flag.Name], known[""][flag.Name] = true, true
		}
		for _, child := range n.Children {
			if command == "" {
				walk(child, child.Name)
			} else {
				walk(child, command)
			}
		}
	}
	walk(root, "")
	return known
}

// fromEnvironment is the variable that sets a flag, or empty.
func fromEnvironment(flag *kong.Flag) string {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return name
		}
	}
	return ""
}
