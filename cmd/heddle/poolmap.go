package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"

	"github.com/heddle-run/heddle/services/planner/pool"
)

// poolMap is a flag QUEUE=POOL that can be repeated, or a mapping of pools in the settings file.
type poolMap map[string]pool.Options

// poolSetting is a pool in the settings file.
type poolSetting struct {
	Queues  []string `yaml:"queues"`
	Older   string   `yaml:"older"`   // wait, or overflow
	Upgrade string   `yaml:"upgrade"` // keep, or drain
	Shards  int      `yaml:"shards"`
}

// Decode implements kong.MapperValue.
func (m *poolMap) Decode(ctx *kong.DecodeContext) error {
	token, err := ctx.Scan.PopValue("QUEUE=POOL")
	if err != nil {
		return err
	}
	if *m == nil {
		*m = poolMap{}
	}
	if text, ok := token.Value.(string); ok {
		err = m.add(text)
	} else {
		err = m.load(token.Value)
	}
	if err == nil {
		err = pool.Settings{Pools: *m}.Check()
	}
	return err
}

// add reads QUEUE=POOL pairs, separated by commas.
func (m *poolMap) add(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		queue, name, ok := strings.Cut(pair, "=")
		if !ok || queue == "" || name == "" {
			return fmt.Errorf("%q is not of the form QUEUE=POOL", pair)
		}
		o := (*m)[name]
		o.Queues = append(o.Queues, queue)
		(*m)[name] = o
	}
	return nil
}

// load reads the mapping of a settings file.
func (m *poolMap) load(v any) error {
	if err := plainPools(v); err != nil {
		return err
	}
	b, err := yaml.Dump(v)
	if err != nil {
		return fmt.Errorf("pools: %w", err)
	}
	said := map[string]poolSetting{}
	if err := yaml.Load(b, &said, yaml.WithKnownFields()); err != nil {
		return fmt.Errorf("pools: %w", err)
	}
	for name, s := range said { // order: each is a pool by itself
		o := pool.Options{Queues: s.Queues, Shards: s.Shards}
		if o.Overflow, err = oneOf(s.Older, "wait", "overflow"); err != nil {
			return fmt.Errorf("pools.%s.older: %w", name, err)
		}
		if o.Upgrade, err = oneOf(s.Upgrade, "keep", "drain"); err != nil {
			return fmt.Errorf("pools.%s.upgrade: %w", name, err)
		}
		(*m)[name] = o
	}
	return nil
}

// oneOf reports whether a word is the second one; an empty one is the first.
func oneOf(word, first, second string) (bool, error) {
	if word != "" && word != first && word != second {
		return false, fmt.Errorf("%q: want %s or %s", word, first, second)
	}
	return word == second, nil
}

// plainPools refuses what nests deeper than lists in fields of pools, as plainServices does.
func plainPools(v any) error {
	pools, ok := v.(map[string]any)
	if !ok {
		return errors.New("pools: must be a mapping of pools")
	}
	for name, one := range pools {
		fields, ok := one.(map[string]any)
		if !ok {
			return fmt.Errorf("pools.%s: must be a mapping with queues", name)
		}
		for field, value := range fields {
			items, list := value.([]any)
			if !list {
				items = []any{value}
			}
			for _, item := range items {
				switch item.(type) {
				case map[string]any, []any:
					return fmt.Errorf("pools.%s.%s: must be texts", name, field)
				}
			}
		}
	}
	return nil
}
