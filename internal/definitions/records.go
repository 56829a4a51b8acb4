package definitions

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/definition"
)

const (
	namePrefix   = "name/"
	digestPrefix = "sha256:"
)

// Record is one record of the topic.
type Record struct {
	Key   []byte
	Value []byte
}

// label is the value of a record that names a definition.
type label struct {
	Digest  string `json:"digest"`
	Version string `json:"version,omitempty"`
}

// Records are those of a registration, in the order to write them.
func Records(d *definition.Definition) []Record {
	list := []Record{{[]byte(d.Digest), d.Canonical()}}
	if d.Version != "" {
		list = append(list, labelRecord(d.Name+"@"+d.Version, label{Digest: d.Digest}))
	}
	return append(list, labelRecord(d.Name, label{Digest: d.Digest, Version: d.Version}))
}

func labelRecord(name string, l label) Record {
	value, err := json.Marshal(l)
	if err != nil {
		panic(err) // two strings always marshal
	}
	return Record{[]byte(namePrefix + name), value}
}

// head is what a canonical definition says about itself.
type head struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func parseDefinition(digest string, canonical []byte) (Entry, error) {
	var h head
	if err := json.Unmarshal(canonical, &h); err != nil {
		return Entry{}, fmt.Errorf("definition %s: %w", digest, err)
	}
	return Entry{Name: h.Name, Version: h.Version, Digest: digest, Canonical: canonical}, nil
}

func parseLabel(key string, value []byte) (string, label, error) {
	var l label
	if err := json.Unmarshal(value, &l); err != nil || !strings.HasPrefix(l.Digest, digestPrefix) {
		return "", l, fmt.Errorf("%s: %q names no definition", key, value)
	}
	return strings.TrimPrefix(key, namePrefix), l, nil
}
