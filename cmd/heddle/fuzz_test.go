package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// Whatever stands in a file that a command reads, as its settings, as the note
// of a running dev, as a definition or as JSON, and in an event of a history, it
// is taken or refused in words.
func FuzzFiles(f *testing.F) {
	for i, text := range []string{
		"brokers: [a:1, b:2]\nprefix: x.\nexecutor:\n  slots: 3\n  drain: 1m\n  services:\n    orders: {url: 'http://orders/{task}', concurrency: 2, allow_private: true}\n  allow_network: [10.0.0.0/8]\n",
		"services: a=http://x,b=http://y\nallow-network: nowhere\nslots: many\n",
		"services: [a, {b: c}]\nlog_level: {}\n",
		"gateway: {api_key: ['me:read:00'], rate: .5, max_body: 1e3}\ndev: {partitions: null, memory: yes}\n",
		"a: &a [x, *a]\n",
		bomb,
		`{"url":"http://127.0.0.1:4080","brokers":["127.0.0.1:4092"],"prefix":"heddle.","pid":1}`,
		`{"url":":","pid":-1}`,
		"name: x\ninput: {schema: {type: object, required: [a, b], properties: {a: {type: [string, 'null']}, b: {enum: [1]}}}}\ncomponents: {a: {expr: input}}\n",
		`{"position":"1.2","time":"2026-01-02T03:04:05Z","type":"RunnableFailed","component":"a","error":{"type":"t","message":"m"}}`,
		`{"type":"RunnableDispatched","runnable":"r1","queue":"q","due":"0001-01-01T00:00:00Z","value":"a b"}`,
	} {
		f.Add(uint8(i), []byte(text))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		config := write(t, filepath.Join(dir, "heddle.yaml"), string(b))
		write(t, filepath.Join(dir, devfile.Name), string(b))
		wiretest.Bounded(t, len(b), 4<<10, 16<<20, func() { readSettings(t, settled[int(which)%len(settled)], config) })
		readNote(t, dir)
		if _, err := parseJSON("it", b); err != nil && json.Valid(b) {
			t.Error(err)
		}
		if def, err := definition.Parse(b); err == nil && sampleInput(def) == "" {
			t.Error("no arguments are suggested")
		}
		var e client.Event
		if json.Unmarshal(b, &e) == nil {
			printHistory(io.Discard, []client.Event{e})
			newProgress(io.Discard).event(e)
		}
	})
}

// bomb is a setting of a few bytes that says a billion values.
var bomb = func() string {
	text := "services:\n  q0: &q0 {url: x}\n"
	for i := range 9 {
		text += fmt.Sprintf("  q%d: &q%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*q%d, ", i), 10))
	}
	return text
}()

// settled are the commands whose settings are read: a part of cli, which takes
// long to make.
var settled = []string{"executor", "dev", "gateway", "planner"}

type settledCLI struct {
	Config   string
	Dev      devCmd      `cmd:""`
	Planner  plannerCmd  `cmd:""`
	Executor executorCmd `cmd:""`
	Gateway  gatewayCmd  `cmd:""`
}

// readSettings holds that a command's settings are read, or refused in words.
func readSettings(t *testing.T, command, config string) {
	t.Helper()
	var c settledCLI
	parser, err := newParser(&c, &settingsFile{}, streams{out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{command, "--config", config}); err != nil {
		if err.Error() == "" {
			t.Errorf("%s is refused without a word", command)
		}
		return
	}
	for queue := range c.Executor.Services {
		if queue == "" {
			t.Errorf("a service has no queue: %+v", c.Executor.Services)
		}
	}
	if rules, err := c.Executor.rules(); err == nil && len(rules.Networks) != len(c.Executor.AllowNetwork) {
		t.Errorf("the networks are %v, want %v", rules.Networks, c.Executor.AllowNetwork)
	}
}

// readNote holds that no note of a dev that says no URL leads anywhere.
func readNote(t *testing.T, dir string) {
	t.Helper()
	note, err := devfile.Read(dir)
	if err != nil {
		return
	}
	cl, err := (&remote{Data: dir}).open(t.Context())
	if err != nil {
		return
	}
	if err := cl.Close(); err != nil {
		t.Error(err)
	}
	if note.URL == "" {
		t.Errorf("%+v leads somewhere", note)
	}
}
