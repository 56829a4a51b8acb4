package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/heddle-run/heddle/internal/kafka"
)

// kafkaSecurity are the settings of connections to Kafka, of every command that
// has any. A secret comes by a file or the environment: a command line can be read
// by others.
type kafkaSecurity struct {
	KafkaTLS          bool   `name:"kafka-tls" help:"Use TLS with the brokers; a file or a server name below implies it."`
	KafkaCAFile       string `name:"kafka-ca-file" placeholder:"FILE" help:"Certificates (PEM) of the authorities that vouch for the brokers; without it those of the system."`
	KafkaCertFile     string `name:"kafka-cert-file" placeholder:"FILE" help:"Certificate (PEM) that the brokers know this process by."`
	KafkaKeyFile      string `name:"kafka-key-file" placeholder:"FILE" help:"Key (PEM) of that certificate."`
	KafkaServerName   string `name:"kafka-server-name" placeholder:"NAME" help:"Name in the brokers' certificates; without it the host that is dialled."`
	KafkaSASL         string `name:"kafka-sasl" enum:"none,plain,scram-sha-256,scram-sha-512,oauthbearer" default:"none" help:"SASL mechanism to log in with: ${enum}."`
	KafkaUser         string `help:"User to log in as."`
	KafkaPassword     string `placeholder:"SECRET" help:"Password of that user; better given by $$HEDDLE_KAFKA_PASSWORD or the file below."`
	KafkaPasswordFile string `placeholder:"FILE" help:"File that has the password; read for each connection."`
	KafkaTokenFile    string `placeholder:"FILE" help:"File that has the token for oauthbearer; read for each connection."`
	KafkaTokenCommand string `placeholder:"COMMAND" help:"Program that prints the token for oauthbearer, and its arguments, divided at spaces; it is run for each connection, without a shell."`
}

func (s *kafkaSecurity) security() kafka.Security {
	return kafka.Security{
		TLS: s.KafkaTLS, CAFile: s.KafkaCAFile, CertFile: s.KafkaCertFile, KeyFile: s.KafkaKeyFile, ServerName: s.KafkaServerName,
		SASL: s.KafkaSASL, User: s.KafkaUser, Password: s.KafkaPassword, PasswordFile: s.KafkaPasswordFile,
		TokenFile: s.KafkaTokenFile, TokenCommand: s.KafkaTokenCommand,
	}
}

// gatewayAccess are the settings of who talks to a gateway.
type gatewayAccess struct {
	APIKey     string `name:"api-key" placeholder:"SECRET" help:"Key for the gateway; better given by $$HEDDLE_API_KEY or the file below."`
	APIKeyFile string `name:"api-key-file" placeholder:"FILE" help:"File that has the key for the gateway."`
	CAFile     string `name:"ca-file" placeholder:"FILE" help:"Certificates (PEM) of the authorities that vouch for an https gateway; without it those of the system."`
}

// key is the API key, empty for none.
func (g *gatewayAccess) key() (string, error) {
	if g.APIKeyFile == "" {
		return g.APIKey, nil
	}
	if g.APIKey != "" {
		return "", usageError("give --api-key or --api-key-file, not both")
	}
	b, err := os.ReadFile(g.APIKeyFile)
	if err != nil {
		return "", usageError("reading the API key: %w", err)
	}
	key := strings.TrimSpace(string(b))
	if key == "" {
		return "", usageError("the API key file %s is empty", g.APIKeyFile)
	}
	return key, nil
}

// client is nil where the usual one does.
func (g *gatewayAccess) client() (*http.Client, error) {
	if g.CAFile == "" {
		return nil, nil //nolint:nilnil // nil is the usual client, as in client.Options
	}
	pem, err := os.ReadFile(g.CAFile)
	if err != nil {
		return nil, usageError("reading the CA file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, usageError("--ca-file: %w", fmt.Errorf("%s has no certificate in PEM", g.CAFile))
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &http.Client{Transport: tr}, nil
}
