package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/sdk/client"
)

// remote says which deployment a command talks to.
type remote struct {
	URL     string   `name:"url" placeholder:"URL" help:"The gateway; without it a running 'heddle dev' is found by its dev.json."`
	Brokers []string `placeholder:"HOST:PORT" help:"Kafka brokers, to talk to planners without a gateway."`
	Prefix  string   `default:"heddle." help:"Prefix of the deployment's topics, with --brokers."`
	Data    string   `placeholder:"DIR" help:"Data directory of the 'heddle dev' to talk to; without it .heddle here or in a directory above."`
}

// open connects. The caller closes the client.
func (r *remote) open() (*client.Client, error) {
	o := client.Options{URL: r.URL, Source: "heddle-cli"}
	switch {
	case o.URL != "":
	case len(r.Brokers) > 0:
		o.Brokers, o.Prefix = r.Brokers, r.Prefix
	default:
		file, err := r.running()
		if err != nil {
			return nil, err
		}
		o.URL = file.URL
	}
	c, err := client.New(o)
	if err != nil {
		return nil, unreachable(err)
	}
	return c, nil
}

// running is the `heddle dev` that runs here.
func (r *remote) running() (devfile.File, error) {
	find := func() (devfile.File, error) { return devfile.Find(".") }
	if r.Data != "" {
		find = func() (devfile.File, error) { return devfile.Read(r.Data) }
	}
	file, err := find()
	if errors.Is(err, devfile.ErrNone) {
		return file, unreachable(fmt.Errorf("%w; start one with: heddle dev, or name a gateway with --url", err))
	}
	if err == nil && !alive(file.PID) {
		return file, unreachable(fmt.Errorf("the heddle dev of %s (process %d) is gone; start it again with: heddle dev", file.URL, file.PID))
	}
	return file, err
}

// alive says whether a process runs on this machine. One of another user does.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
