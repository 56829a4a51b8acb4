package main

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/services/planner/archive/archiver"
	"github.com/heddle-run/heddle/services/planner/archive/shelf"
)

// gatewayCmd runs the gateway service.
type gatewayCmd struct {
	cluster
	logging
	HTTP           string   `default:"127.0.0.1:4080" placeholder:"ADDR" help:"Address of the API, with /livez, /readyz and /metrics."`
	Data           string   `placeholder:"DIR" help:"Directory of the view that lists are made from; without it it is in memory and read again at each start."`
	APIKeys        []string `name:"api-keys" placeholder:"NAME:ROLE:SHA256" help:"Keys that may use the API: roles are read, write (all but delete), operate; the last part is the SHA-256 of the key in hex."`
	InsecureListen bool     `help:"Serve others than this machine without API keys: something else guards the address."`
	HTTPCertFile   string   `name:"http-cert-file" placeholder:"FILE" help:"Certificate (PEM) to serve https with, read again when it changes."`
	HTTPKeyFile    string   `name:"http-key-file" placeholder:"FILE" help:"Key (PEM) of that certificate."`
	archiveSettings
	Archiver       bool    `help:"Keep runs in --archive-store from within this process, as heddle archiver does; a pebble: store is open to one process only."`
	CreateQueues   bool    `help:"Let registrations create the topics of the task queues they name."`
	NotReady       string  `enum:"accept,hold,refuse" default:"accept" help:"What becomes of commands for a workflow whose partition is not ready: accept writes them to Kafka, where they wait; hold waits for the partition for 10 s; refuse answers 503 at once."`
	MaxBody        int64   `help:"Bytes of a request's body; 0 is the default of 1 MiB."`
	MaxInFlight    int     `help:"Requests being served; 0 is the default of 8,192."`
	MaxWatchers    int     `help:"Event streams; 0 is the default of 256."`
	MaxTunnels     int     `help:"Requests and WebSockets to attempts at runners that are open; 0 is the default of 256."`
	MaxConnections int     `help:"Connections; 0 is the default of 16,384."`
	MaxPerClient   int     `help:"Connections of one address; 0 is the default of 2,048. Behind a proxy all clients have one."`
	Rate           float64 `help:"Requests per second and client; 0 is unlimited."`
}

// Run implements the command.
func (c *gatewayCmd) Run(a *app) error {
	keys, err := parseKeys("--api-keys", c.APIKeys)
	if err != nil {
		return err
	}
	if err := checkCertificate("--http", c.HTTPCertFile, c.HTTPKeyFile); err != nil {
		return err
	}
	if c.Archiver && c.ArchiveStore == "" {
		return usageError("--archiver needs --archive-store: where runs are kept")
	}
	if _, err := c.checkTopics(a); err != nil {
		return err
	}
	logger := c.logger(a)
	group := service.Group{Logger: logger}
	registry := newRegistry()
	var kept gateway.Archive
	if c.ArchiveStore != "" {
		st, err := c.openStore(a)
		if err != nil {
			return err
		}
		defer st.Close()
		kept = &shelf.Shelf{Store: st}
		if c.Archiver {
			group.Add("archiver", func(ctx context.Context, ready func()) error {
				return archiver.Run(ctx, c.config(c.kafka(), st, "", logger, registry), ready)
			})
		}
	}
	group.Add("gateway", func(ctx context.Context, ready func()) error {
		return gateway.Run(ctx, gateway.Config{
			Kafka: c.kafka(), Dir: c.Data, Listen: c.HTTP, Insecure: c.InsecureListen, APIKeys: keys, CertFile: c.HTTPCertFile, KeyFile: c.HTTPKeyFile,
			CreateQueues: c.CreateQueues, NotReady: gateway.NotReady(c.NotReady), Archive: kept, Logger: logger, Registry: registry,
			Bounds: service.Bounds{Connections: c.MaxConnections, PerClient: c.MaxPerClient},
			Limits: gateway.Limits{Body: c.MaxBody, InFlight: c.MaxInFlight, Watchers: c.MaxWatchers, Tunnels: c.MaxTunnels, Rate: c.Rate},
		}, nil, func(at net.Addr) {
			logger.Info("the API is served", "url", c.scheme()+"://"+at.String())
			ready()
		})
	})
	return group.Run(a, nil)
}

// parseKeys reads the keys of a flag.
func parseKeys(flag string, texts []string) (access.Keys, error) {
	var keys access.Keys
	for _, text := range texts {
		key, err := access.ParseKey(text)
		if err != nil {
			return nil, usageError("%s: %w", flag, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// checkCertificate says what is wrong with the certificate of what is served before anybody is asked. The flags of its files begin with prefix.
func checkCertificate(prefix, certFile, keyFile string) error {
	if certFile == "" && keyFile == "" {
		return nil
	}
	if certFile == "" || keyFile == "" {
		return usageError("%s-cert-file and %s-key-file go together: one of both is missing", prefix, prefix)
	}
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		return usageError("%s-cert-file %s, %s-key-file %s: %w", prefix, certFile, prefix, keyFile, err)
	}
	return nil
}

func (c *gatewayCmd) scheme() string {
	if c.HTTPCertFile != "" {
		return "https"
	}
	return "http"
}
