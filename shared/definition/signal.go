package definition

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/spelling"
)

// Signal is what a component waits for.
type Signal struct {
	Name    string
	Number  int           // of the name, in Graph.Signals
	Key     *expr.Program // nil = signals without a key
	Timeout *Duration     // nil = for ever
	Remind  *Reminder     // nil = none

	schema *inputSchema // nil = any value
}

// SignalName is a name that the components of a definition wait for.
type SignalName struct {
	Name   string
	Keyed  bool // some of them want a key
	Single bool // some of them want none

	schemas []*inputSchema
}

// awaited reports whether a component waits for it.
func (n *SignalName) awaited() bool { return n.Keyed || n.Single }

// MaxSignalKey is the longest key of a signal, in bytes.
const MaxSignalKey = 256

// KeyOf evaluates the key: a text as it is, a number or a boolean as its JSON. Without one it is empty.
func (s *Signal) KeyOf(env expr.Env) (string, error) {
	if s.Key == nil {
		return "", nil
	}
	v, err := s.Key.Value(env)
	if err != nil {
		return "", fmt.Errorf("key: %w", err)
	}
	key, is := v.(string)
	switch v.(type) {
	case nil, []any, map[string]any:
		return "", fmt.Errorf("key: expression %q: the value %s is neither a text, a number nor a boolean", s.Key.Source(), show(v))
	}
	if !is {
		key = show(v)
	}
	if key == "" || len(key) > MaxSignalKey {
		return "", fmt.Errorf("key: expression %q: the value has %d bytes, and must have 1 to %d", s.Key.Source(), len(key), MaxSignalKey)
	}
	return key, nil
}

// signals collects the names of signals.
func (b *builder) signals() {
	byName := map[string]*SignalName{}
	for _, c := range b.graph.Components {
		if c.Signal == nil {
			continue
		}
		n := byName[c.Signal.Name]
		if n == nil {
			n = &SignalName{Name: c.Signal.Name}
			byName[n.Name] = n
		}
		n.Keyed, n.Single = n.Keyed || c.Signal.Key != nil, n.Single || c.Signal.Key == nil
		if c.Signal.schema != nil {
			n.schemas = append(n.schemas, c.Signal.schema)
		}
	}
	for _, name := range slices.Concat(b.signalNames, without(sortedKeys(byName), b.signalNames)) {
		n := byName[name]
		if n == nil { // nobody waits for it any more
			n = &SignalName{Name: name}
		}
		b.graph.Signals = append(b.graph.Signals, *n)
	}
	for _, c := range b.graph.Components {
		if c.Signal != nil {
			c.Signal.Number, _ = b.graph.SignalNamed(c.Signal.Name)
		}
	}
}

// SignalNamed finds a name among those of the signals.
func (g *Graph) SignalNamed(name string) (number int, ok bool) {
	number = slices.IndexFunc(g.Signals, func(n SignalName) bool { return n.Name == name && n.awaited() })
	return number, number >= 0
}

// NearestSignal says which signals the components wait for, and which of them was probably meant.
func (g *Graph) NearestSignal(name string) string {
	var names []string
	for i := range g.Signals {
		if g.Signals[i].awaited() {
			names = append(names, g.Signals[i].Name)
		}
	}
	switch best := spelling.Nearest(name, names); {
	case len(names) == 0:
		return "its definition waits for no signal"
	case best != "":
		return fmt.Sprintf("nearest: %q", best)
	}
	return "its definition waits for " + joinNames(names[:min(len(names), 10)])
}

// Accept checks the value of a signal against the schemas of all components that wait for its name, and fills in their
// defaults, as AcceptInput does.
func (n *SignalName) Accept(raw json.RawMessage) (json.RawMessage, error) {
	for _, s := range n.schemas {
		var err error
		if raw, err = s.accept(raw); err != nil {
			return nil, err
		}
	}
	return raw, nil
}
