package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/heddle-run/heddle/internal/broker"
)

// composed is a service of compose.yaml.
type composed struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
}

// composedServices are the services that run our binary.
func composedServices(t *testing.T) map[string]composed {
	t.Helper()
	src, err := os.ReadFile("../../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]composed `yaml:"services"`
	}
	if err := yaml.Load(src, &file); err != nil {
		t.Fatal(err)
	}
	for name, s := range file.Services {
		if !strings.HasPrefix(s.Image, "heddle:") {
			delete(file.Services, name)
		}
	}
	return file.Services
}

// preset is a variable of the shell with what counts without it.
var preset = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)

// adopt sets the environment of a service, on free ports and with another broker.
func (s composed) adopt(t *testing.T, brokers string) {
	t.Helper()
	for name, value := range s.Environment {
		value = preset.ReplaceAllString(value, "$1")
		value = strings.Replace(value, ":4080", ":0", 1) // before there is the broker's port, which may begin so
		t.Setenv(name, strings.Replace(value, "kafka:9092", brokers, 1))
	}
}

// args is the command of a service, with a directory of its own.
func (s composed) args(t *testing.T) []string {
	args := append([]string(nil), s.Command...)
	for i, a := range args {
		if a == "/data" {
			args[i] = t.TempDir()
		}
	}
	return args
}

// The commands and settings of compose.yaml, without the containers: all
// services come up and run a workflow.
func TestTheComposeFileRunsAWorkflow(t *testing.T) {
	services := composedServices(t)
	elsewhere(t)
	b, err := broker.Start(t.Context(), broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	services["topics"].adopt(t, b.Addr())
	succeed(t, services["topics"].args(t)...)

	logs := map[string]*output{}
	for _, name := range []string{"planner", "executor", "readiness", "gateway"} {
		logs[name] = composedRunning(t, name, services[name], b.Addr())
	}
	if len(services) != len(logs)+1 {
		t.Errorf("compose.yaml has the services %v", services)
	}
	var port []string
	eventually(t, "the gateway serves", func() bool {
		port = regexp.MustCompile(`url=http://\S+:(\d+)`).FindStringSubmatch(logs["gateway"].String())
		return port != nil
	})
	url := "http://127.0.0.1:" + port[1]
	write(t, "hello.yaml", "name: hello\ncomponents: {greet: {expr: \"'hello ' + input.name\"}}\n")
	succeed(t, "define", "hello.yaml", "--url", url)
	contains(t, succeed(t, "run", "hello", "name=ann", "--url", url), `"hello ann"`)
}

// composedRunning runs a service of the compose file until the test ends.
func composedRunning(t *testing.T, name string, s composed, brokers string) *output {
	t.Helper()
	s.adopt(t, brokers)
	return serving(t, name, s.args(t)...)
}

// serving runs a service until the test ends, and returns what it prints.
func serving(t *testing.T, name string, args ...string) *output {
	t.Helper()
	out := &output{}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() { done <- run(ctx, args, streams{in: strings.NewReader(""), out: out, err: out}) }()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != codeDone {
			t.Errorf("the %s ended with %d:\n%s", name, code, out)
		}
	})
	return out
}
