package main

import (
	"fmt"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/dev/devfile"
)

// brokerCmd runs the embedded broker alone.
type brokerCmd struct {
	Data      string `default:".heddle-broker" placeholder:"DIR" help:"Directory of its logs; started again on the same data it goes on where it stopped."`
	Kafka     string `placeholder:"ADDR" help:"Address to listen on, of loopback; without it 127.0.0.1:4092, or the next free port."`
	Memory    bool   `help:"Keep nothing: the data is gone when it stops."`
	LogLevel  string `enum:"debug,info,warn,error" default:"warn" help:"Least level that is logged: ${enum}."`
	LogFormat string `enum:"text,json" default:"text" help:"${enum}."`
}

// Run implements the command.
func (c *brokerCmd) Run(a *app) error {
	log := logging{LogLevel: c.LogLevel, LogFormat: c.LogFormat}
	o := broker.Options{Dir: c.Data, Addr: c.Kafka, Logger: log.logger(a)}
	if c.Memory {
		o.Dir = ""
	}
	if o.Addr == "" {
		o.Addr, o.NextPort = devfile.Kafka, true
	}
	failed := make(chan error, 1)
	o.Failed = func(err error) { failed <- err }
	b, err := broker.Start(a, o)
	if err != nil {
		return portTaken(err, c.Kafka != "")
	}
	fmt.Fprintf(a.out, "the broker is ready at %s\n\nTry: heddle topics apply --brokers %s --partitions 8\n", b.Addr(), b.Addr())
	select {
	case err := <-failed: // as if it were killed: there is nothing to close
		return err
	case <-a.Done():
	}
	fmt.Fprintln(a.out, "stopping")
	return b.Close()
}
