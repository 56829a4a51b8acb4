package main

import (
	"encoding/json"
	"strings"
)

// valueArgs is an input on the command line: key=value pairs make an object,
// or --input has it whole.
type valueArgs struct {
	Pairs []string `arg:"" optional:"" name:"key=value" help:"Fields of the input; values are JSON, or else text."`
	Input string   `env:"-" short:"i" placeholder:"JSON" help:"The input: JSON, @FILE, or - for the standard input."`
}

// value is the input, nil when none is given.
func (v *valueArgs) value(a *app) (json.RawMessage, error) {
	switch {
	case v.Input != "" && len(v.Pairs) > 0:
		return nil, usageError("give key=value pairs or --input, not both")
	case v.Input != "":
		return a.jsonArg("--input", v.Input)
	case len(v.Pairs) == 0:
		return nil, nil
	}
	object := map[string]json.RawMessage{}
	for _, pair := range v.Pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usageError("%q is not of the form key=value (a whole input goes behind --input)", pair)
		}
		if _, twice := object[key]; twice {
			return nil, usageError("%s is given twice", key)
		}
		object[key] = jsonOrText(text)
	}
	b, err := json.Marshal(object)
	if err != nil {
		return nil, usageError("the input: %w", err)
	}
	return b, nil
}

// jsonOrText takes text as JSON where it is that, else as a JSON string.
func jsonOrText(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, err := json.Marshal(text)
	if err != nil {
		panic("a text always has a JSON form: " + err.Error())
	}
	return b
}

// jsonArg reads an argument that is JSON, @FILE or - for the standard input.
func (a *app) jsonArg(name, arg string) (json.RawMessage, error) {
	if arg == "" {
		return nil, nil
	}
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		return a.readJSON(file)
	}
	if arg == "-" {
		return a.readJSON(arg)
	}
	raw, err := parseJSON(name, []byte(arg))
	if err != nil {
		return nil, usageError(`%w (a text has its own quotes, '"ann"'; a file is @FILE)`, err)
	}
	return raw, nil
}
