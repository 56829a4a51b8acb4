package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
)

// remote says which deployment a command talks to.
type remote struct {
	URL           string   `name:"url" group:"Which deployment" placeholder:"URL" help:"The gateway; without it a running 'heddle dev' is found by its dev.json, else looked for at 127.0.0.1:4080."`
	Brokers       []string `group:"Which deployment" placeholder:"HOST:PORT" help:"Kafka brokers, to talk to planners without a gateway."`
	Prefix        string   `group:"Which deployment" default:"heddle." help:"Prefix of the deployment's topics, with --brokers."`
	Data          string   `group:"Which deployment" placeholder:"DIR" help:"Data directory of the 'heddle dev' to talk to; without it .heddle here or in a directory above."`
	gatewayAccess `group:"Access to the gateway"`
	kafkaSecurity `group:"Access to Kafka"`
}

// open connects. The caller closes the client.
func (r *remote) open(ctx context.Context) (*client.Client, error) {
	if r.URL == "" && len(r.Brokers) > 0 {
		return reached(kafkaclient.New(ctx, kafkaclient.Options{Brokers: r.Brokers, Prefix: r.Prefix, Security: r.security(), Source: "heddle-cli"}))
	}
	return r.overHTTP(ctx)
}

// reached gives what kept a client from its deployment the exit code that it means.
func reached(c *client.Client, err error) (*client.Client, error) {
	switch {
	case errors.Is(err, kafka.ErrSecurity):
		return nil, usageError("%w", err)
	case err != nil:
		return nil, unreachable(err)
	}
	return c, nil
}

func (r *remote) overHTTP(ctx context.Context) (*client.Client, error) {
	o := client.Options{URL: r.URL}
	var err error
	if o.APIKey, err = r.key(); err != nil {
		return nil, err
	}
	if o.HTTPClient, err = r.client(); err != nil {
		return nil, err
	}
	if o.URL == "" {
		file, err := r.running(gatewayOf, "a gateway with --url")
		if err != nil {
			return nil, err
		}
		if file.URL == "" {
			return nil, unreachable(fmt.Errorf("the %s that was found names no gateway; name one with --url", devfile.Name))
		}
		o.URL = file.URL
	}
	c, err := client.New(ctx, o)
	if err != nil && ctx.Err() == nil { // it asks nobody: the URL is wrong
		return nil, usageError("%w", err)
	}
	return reached(c, err)
}

// usual is where a deployment is that nobody has noted. Tests have others.
var usual = devfile.Usual

func gatewayOf(f devfile.File) string { return strings.TrimPrefix(f.URL, "http://") }

func brokerOf(f devfile.File) string { return f.Brokers[0] }

// running is the `heddle dev` that runs here. Where none is noted, it is the deployment
// at the usual addresses, if somebody listens at the one that is wanted.
// hint names the flag that says where another one is.
func (r *remote) running(wanted func(devfile.File) string, hint string) (devfile.File, error) {
	find := func() (devfile.File, error) { return devfile.Find(".") }
	if r.Data != "" {
		find = func() (devfile.File, error) { return devfile.Read(r.Data) }
	}
	file, err := find()
	if errors.Is(err, devfile.ErrNone) {
		at := usual()
		if r.Data == "" && listens(wanted(at)) {
			return at, nil
		}
		return file, unreachable(fmt.Errorf("%w, and nobody listens at %s; start one with: heddle dev, or name %s", err, wanted(at), hint))
	}
	if err == nil && !alive(file.PID) {
		return file, unreachable(fmt.Errorf("the heddle dev of %s (process %d) is gone; start it again with: heddle dev", file.URL, file.PID))
	}
	return file, err
}

// usualWait bounds the look at a usual address, which is of this machine.
const usualWait = time.Second

// listens reports whether somebody listens at an address.
func listens(addr string) bool {
	conn, err := (&net.Dialer{Timeout: usualWait}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return false
	}
	_ = conn.Close() // it was opened to see whether it could be
	return true
}

// alive reports whether a process runs on this machine. One of another user does.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
