package main

import (
	"context"
	"errors"
	"io"
	"reflect"
	"time"

	"github.com/alecthomas/kong"
)

// cli is the grammar of the command line.
type cli struct {
	Output string `short:"o" enum:"table,json" default:"table" help:"How to print what is found: ${enum}."`
	Config string `placeholder:"FILE" help:"Settings file (YAML); without it ./heddle.yaml, where that exists."`

	Dev  devCmd  `cmd:"" group:"Start here" help:"Run everything on this machine: all services and an embedded broker."`
	Demo demoCmd `cmd:"" group:"Start here" help:"Watch orders being fulfilled while the planner is killed."`
	Run  runCmd  `cmd:"" group:"Start here" help:"Start a workflow, watch it, and print its results."`

	Define defineCmd `cmd:"" group:"Workflows" help:"Check a definition and register it."`
	Start  startCmd  `cmd:"" group:"Workflows" help:"Start a workflow."`
	Input  inputCmd  `cmd:"" group:"Workflows" help:"Feed a workflow an input."`
	List   listCmd   `cmd:"" group:"Workflows" help:"List workflows."`

	Definitions definitionsCmd `cmd:"" group:"Workflows" help:"List registered definitions, or the versions of one, and how many open workflows use them."`

	Get       getCmd       `cmd:"" group:"One workflow" help:"Print a workflow."`
	Explain   explainCmd   `cmd:"" group:"One workflow" help:"Say why a workflow is where it is: what each thing waits for that is not done."`
	Lookup    lookupCmd    `cmd:"" group:"One workflow" help:"Tell where a workflow lives: its partition and who owns it."`
	Results   resultsCmd   `cmd:"" group:"One workflow" help:"Print the results."`
	History   historyCmd   `cmd:"" group:"One workflow" help:"Print the events."`
	Graph     graphCmd     `cmd:"" group:"One workflow" help:"Print the graph with what each component is at."`
	Watch     watchCmd     `cmd:"" group:"One workflow" help:"Follow the events as they happen."`
	Runnables runnablesCmd `cmd:"" group:"One workflow" help:"Print the activations of its components."`

	Signal      signalCmd      `cmd:"" group:"Control" help:"Give a value to what waits for a signal."`
	Pause       pauseCmd       `cmd:"" group:"Control" help:"Admit no new attempts."`
	Resume      resumeCmd      `cmd:"" group:"Control" help:"Go on after pause or stop."`
	Stop        stopCmd        `cmd:"" group:"Control" help:"Let active attempts finish, then stop."`
	Cancel      cancelCmd      `cmd:"" group:"Control" help:"End a workflow for good."`
	Retry       retryCmd       `cmd:"" group:"Control" help:"Run again what has failed."`
	Skip        skipCmd        `cmd:"" group:"Control" help:"Give up a runnable and what depends on it."`
	SetPolicies setPoliciesCmd `cmd:"" group:"Control" help:"Replace the policies of a workflow; what exists keeps its own."`
	Migrate     migrateCmd     `cmd:"" group:"Control" help:"Let a workflow at rest go on with another definition."`
	Checkpoint  checkpointCmd  `cmd:"" group:"Control" help:"Write a workflow's state to the changelog now."`
	Delete      deleteCmd      `cmd:"" group:"Control" help:"Remove a closed workflow for good; an API key needs the role operate."`
	Complete    completeCmd    `cmd:"" group:"Control" help:"Give the result of an attempt by its token."`
	Fail        failCmd        `cmd:"" group:"Control" help:"Fail an attempt by its token."`

	Planner   plannerCmd   `cmd:"" group:"Services" help:"Run a planner: decides what happens next."`
	Executor  executorCmd  `cmd:"" group:"Services" help:"Run an executor: built-in tasks and HTTP services."`
	Gateway   gatewayCmd   `cmd:"" group:"Services" help:"Run a gateway: the HTTP API."`
	Readiness readinessCmd `cmd:"" group:"Services" help:"Run the readiness service: tells which partitions work."`
	Archiver  archiverCmd  `cmd:"" group:"Services" help:"Run an archiver: keeps runs in a store outside Kafka."`
	Topics    topicsCmd    `cmd:"" group:"Services" help:"Compare a cluster's topics with what Heddle needs, and apply that."`
	Broker    brokerCmd    `cmd:"" group:"Services" help:"Run the embedded broker alone, for services of this machine that come and go."`

	Queues     queuesCmd     `cmd:"" group:"Tools" help:"List the task queues with open attempts: how many wait for a worker, since when the oldest does, and how many run."`
	Keys       keysCmd       `cmd:"" group:"Tools" help:"List the keys that are in use, or show who holds the permits of one, how many a rate has granted, or whether a breaker is open, and who waits."`
	Pools      poolsCmd      `cmd:"" group:"Tools" help:"List the pools of runners, or show what one is at: its runners, its queue, and what that waits for."`
	Runners    runnersCmd    `cmd:"" group:"Tools" help:"List the runners of pools, and stop one."`
	Partitions partitionsCmd `cmd:"" group:"Tools" help:"List the planner partitions, and command one: release, checkpoint, replay and so on."`
	Dlq        dlqCmd        `cmd:"" group:"Tools" help:"List inputs that could not be read, or were refused without anybody to tell."`
	Archive    archiveCmd    `cmd:"" group:"Tools" help:"List, search and show the runs that are kept outside Kafka."`
	Journal    journalCmd    `cmd:"" group:"Tools" help:"Show the journal's records."`
	Bench      benchCmd      `cmd:"" group:"Tools" help:"Measure workflows and steps per second, latency, and what idle workflows cost."`
	Expr       exprCmd       `cmd:"" group:"Tools" help:"Try an expression."`

	Conformance conformanceCmd `cmd:"" group:"Tools" help:"Try clients of the runner protocol that others write, or a deployment."`

	Version versionCmd `cmd:"" group:"Tools" help:"Print the version."`
	Show    configCmd  `cmd:"" name:"config" group:"Tools" help:"Print the settings in effect and where each comes from."`
}

const about = `Heddle runs durable workflows on Kafka.

A setting is taken from its flag, else from the environment (HEDDLE_ and the
flag's name), else from the settings file, else it has the default shown.

Exit codes: 0 done · 1 a workflow failed or a command was refused · 2 wrong
usage · 3 the deployment cannot be reached · 4 an input is held by a failed
workflow · 5 conditions of a workflow could not be evaluated · 130 interrupted.`

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app is what every command gets.
type app struct {
	context.Context
	streams
	json bool // print JSON instead of tables
	kong *kong.Context
	file *settingsFile
}

// exited carries kong's wish to exit (help, a version flag) through its parser.
type exited int

// run parses args, runs the command and returns the exit code.
func run(ctx context.Context, args []string, s streams) (code int) {
	defer func() {
		if r := recover(); r != nil {
			status, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(status)
		}
	}()
	var c cli
	file := &settingsFile{}
	parser, err := newParser(&c, file, s)
	if err != nil {
		return report(s.err, err)
	}
	parsed, err := parser.Parse(args)
	switch {
	case file.failed != nil:
		err = file.failed
	case err != nil:
		err = usage(parser, err)
	default:
		err = file.load(parsed)
	}
	if err != nil {
		if asksJSON(args) {
			return reportJSON(s.err, err)
		}
		return report(s.err, err)
	}
	a := &app{Context: ctx, streams: s, json: c.Output == "json", kong: parsed, file: file}
	err = parsed.Run(a)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return codeInterrupted
	}
	if a.json {
		return reportJSON(s.err, err)
	}
	return report(s.err, err)
}

// newParser reads command lines of a grammar into it: a *cli, or part of one.
func newParser(grammar any, file *settingsFile, s streams) (*kong.Kong, error) {
	return kong.New(grammar,
		kong.Name("heddle"),
		kong.Description(about),
		kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.DefaultEnvars("HEDDLE"),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)),
		kong.Resolvers(file),
	)
}
