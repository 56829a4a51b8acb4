package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.yaml.in/yaml/v4"

	"github.com/heddle-run/heddle/services/executor"
	"github.com/heddle-run/heddle/services/executor/runners"
)

// executorCmd runs the executor service.
type executorCmd struct {
	serviceSettings
	executorSettings
	Slots int           `default:"64" help:"Attempts of the queue \"default\" at a time."`
	Drain time.Duration `default:"25s" help:"What attempts get to finish when the service stops."`
	Test  bool          `help:"Offer the test.* tasks."`

	Runners         string   `placeholder:"ADDR" help:"Address where runners connect by WebSocket; without it none do."`
	RunnersKeys     []string `placeholder:"NAME:ROLE:SHA256" help:"Keys that runners may connect with, as the --api-keys of a gateway; they need the role write."`
	RunnersInsecure bool     `help:"Serve runners of other machines without keys: something else guards the address."`
	RunnersCertFile string   `placeholder:"FILE" help:"Certificate (PEM) to serve wss with, read again when it changes."`
	RunnersKeyFile  string   `placeholder:"FILE" help:"Key (PEM) of that certificate."`
}

// executorSettings are what an executor may do, wherever it runs.
type executorSettings struct {
	Services        serviceMap     `placeholder:"QUEUE=URL" help:"HTTP services by the queue they serve; {task} in the URL is the task's name. The settings file can say more: {url, concurrency, allow_private}."`
	AllowHost       []string       `placeholder:"HOST" help:"Hosts that http.request may call: names or *.suffix; without it all."`
	AllowLoopback   *bool          `help:"Let http.request call this machine; heddle dev does unless it is false."`
	AllowPrivate    bool           `help:"Let http.request call private networks and this machine."`
	AllowNetwork    []string       `placeholder:"CIDR" help:"Networks that http.request may call, whatever they are."`
	AllowTopic      []string       `placeholder:"TOPIC" help:"Topics that kafka.produce may write to: names, or prefixes ending in *."`
	AllowTerminal   []string       `placeholder:"SOCKET=SESSION" help:"Terminals that terminal.submit may type into: the socket of a tmux server, by name or absolute path, and a session there, or a prefix ending in *."`
	AllowCommand    []string       `placeholder:"PATH" help:"Programs that exec.command may run, by their absolute paths; without it none."`
	CommandEnv      []string       `placeholder:"NAME" help:"Environment variables that programs of exec.command may have: the executor's own, and those that a step gives them."`
	RunnersOrigins  []string       `placeholder:"ORIGIN" help:"Origins of web pages, as https://HOST:PORT, that may have runners though there are no keys for them; with keys pages of any origin may."`
	TerminalPresses map[string]int `placeholder:"KIND=N" mapsep:"," help:"How often terminal.submit presses Enter, by the kind of worker; claude once, all others twice."`
}

func (s *executorSettings) rules() (executor.HTTPRules, error) {
	rules := executor.HTTPRules{Hosts: s.AllowHost, AllowLoopback: s.AllowLoopback != nil && *s.AllowLoopback, AllowPrivate: s.AllowPrivate}
	for _, text := range s.AllowNetwork {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return rules, usageError("--allow-network: %w", err)
		}
		rules.Networks = append(rules.Networks, network)
	}
	return rules, nil
}

func (s *executorSettings) terminals() executor.Terminals {
	return executor.Terminals{Allow: s.AllowTerminal, Presses: s.TerminalPresses}
}

func (s *executorSettings) commands() executor.Commands {
	return executor.Commands{Allow: s.AllowCommand, Env: s.CommandEnv}
}

// origins are those of web pages that may have runners.
func (s *executorSettings) origins() ([]string, error) {
	for _, o := range s.RunnersOrigins {
		if err := runners.CheckOrigin(o); err != nil {
			return nil, usageError("--runners-origins: %w", err)
		}
	}
	return s.RunnersOrigins, nil
}

// Run implements the command.
func (c *executorCmd) Run(a *app) error {
	rules, err := c.rules()
	if err != nil {
		return err
	}
	served, err := c.runners()
	if err != nil {
		return err
	}
	if _, err := c.checkTopics(a); err != nil {
		return err
	}
	return c.runTraced(a, "executor", func(ctx context.Context, ready func(), reg *prometheus.Registry, tracer trace.Tracer) error {
		return executor.Run(ctx, executor.Config{
			Kafka: c.kafka(), Name: c.Name, Slots: c.Slots, DrainLimit: c.Drain,
			HTTP: rules, Topics: c.AllowTopic, Services: c.Services, Terminals: c.terminals(), Commands: c.commands(), Test: c.Test, Runners: served,
			Ready: ready, Logger: c.logger(a), Registerer: reg, Tracer: tracer,
		})
	})
}

// runners say how runners are served; nil: not at all.
func (c *executorCmd) runners() (*executor.Runners, error) {
	if c.Runners == "" {
		if len(c.RunnersKeys) > 0 || c.RunnersInsecure || len(c.RunnersOrigins) > 0 || c.RunnersCertFile != "" || c.RunnersKeyFile != "" {
			return nil, usageError("--runners is missing: the address where runners connect")
		}
		return nil, nil //nolint:nilnil // none are served
	}
	keys, err := parseKeys("--runners-keys", c.RunnersKeys)
	if err != nil {
		return nil, err
	}
	origins, err := c.origins()
	if err != nil {
		return nil, err
	}
	if err := checkCertificate("--runners", c.RunnersCertFile, c.RunnersKeyFile); err != nil {
		return nil, err
	}
	served := &executor.Runners{
		Config: runners.Config{Keys: keys, Insecure: c.RunnersInsecure, Origins: origins},
		Listen: runners.Listen{Addr: c.Runners, CertFile: c.RunnersCertFile, KeyFile: c.RunnersKeyFile},
	}
	if err := served.Check(&served.Config); err != nil {
		return nil, usageError("--runners: %w", err)
	}
	return served, nil
}

// serviceMap is a flag QUEUE=URL that can be repeated, or a mapping in the
// settings file.
type serviceMap map[string]executor.Service

// Decode implements kong.MapperValue.
func (m *serviceMap) Decode(ctx *kong.DecodeContext) error {
	token, err := ctx.Scan.PopValue("QUEUE=URL")
	if err != nil {
		return err
	}
	if *m == nil {
		*m = serviceMap{}
	}
	if text, ok := token.Value.(string); ok {
		return m.add(text)
	}
	if err := plainServices(token.Value); err != nil {
		return err
	}
	b, err := yaml.Dump(token.Value)
	if err != nil {
		return fmt.Errorf("services: %w", err)
	}
	if err := yaml.Load(b, (*map[string]executor.Service)(m), yaml.WithKnownFields()); err != nil {
		return fmt.Errorf("services: %w", err)
	}
	return nil
}

// plainServices refuses what nests deeper than fields of services: aliases of
// lists of aliases would become as long as they say.
func plainServices(v any) error {
	services, ok := v.(map[string]any)
	if !ok {
		return errors.New("services: must be a mapping of queues")
	}
	for queue, service := range services {
		fields, ok := service.(map[string]any)
		if !ok {
			return fmt.Errorf("services.%s: must be a mapping with a url", queue)
		}
		for name, field := range fields {
			switch field.(type) {
			case map[string]any, []any:
				return fmt.Errorf("services.%s.%s: must be a single value", queue, name)
			}
		}
	}
	return nil
}

// add reads QUEUE=URL pairs, separated by commas.
func (m *serviceMap) add(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		queue, target, ok := strings.Cut(pair, "=")
		if !ok || queue == "" || target == "" {
			return fmt.Errorf("%q is not of the form QUEUE=URL", pair)
		}
		(*m)[queue] = executor.Service{URL: target}
	}
	return nil
}
