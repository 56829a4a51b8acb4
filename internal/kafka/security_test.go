package kafka_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
)

// reaches reports whether a client with these settings can talk to a broker.
func reaches(t *testing.T, addr string, s kafka.Security) error {
	t.Helper()
	cl, err := kafka.NewAdmin(kafka.Config{Brokers: []string{addr}, Security: s})
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return cl.Ping(ctx)
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every kind of secured listener takes clients that have what it asks for, and nobody else.
func TestSecuredListenersTakeWhoHasWhatTheyAskFor(t *testing.T) {
	ca := brokertest.NewAuthority(t)
	token := file(t, "token", "fresh\n")
	for name, c := range map[string]struct {
		listener brokertest.Security
		right    kafka.Security
		wrong    kafka.Security
		says     string // to a client that has not
	}{
		"plain text": {
			brokertest.Security{},
			kafka.Security{},
			kafka.Security{TLS: true},
			"without --kafka-tls",
		},
		"TLS": {
			brokertest.Security{TLS: ca.Server(t, "broker.test", false)},
			kafka.Security{CAFile: ca.File, ServerName: "broker.test"},
			kafka.Security{TLS: true, ServerName: "broker.test"}, // nobody knows this CA
			"--kafka-ca-file",
		},
		"TLS with a name": {
			brokertest.Security{TLS: ca.Server(t, "broker.test", false)},
			kafka.Security{CAFile: ca.File, ServerName: "broker.test"},
			kafka.Security{CAFile: ca.File, ServerName: "other.test"},
			"--kafka-server-name",
		},
		"TLS of both sides": {
			brokertest.Security{TLS: ca.Server(t, "127.0.0.1", true)},
			kafka.Security{CAFile: ca.File, CertFile: ca.ClientCert, KeyFile: ca.ClientKey},
			kafka.Security{CAFile: ca.File},
			"--kafka-cert-file",
		},
		"PLAIN": {
			brokertest.Security{SASL: "PLAIN", User: "u", Password: "secret"},
			kafka.Security{SASL: "plain", User: "u", PasswordFile: file(t, "pw", "secret\n")},
			kafka.Security{SASL: "plain", User: "u", Password: "guessed"},
			"the login",
		},
		"SCRAM-SHA-256": {
			brokertest.Security{SASL: "SCRAM-SHA-256", User: "u", Password: "secret"},
			kafka.Security{SASL: "scram-sha-256", User: "u", Password: "secret"},
			kafka.Security{SASL: "scram-sha-256", User: "u", Password: "guessed"},
			"the login",
		},
		"SCRAM-SHA-512 over TLS": {
			brokertest.Security{TLS: ca.Server(t, "127.0.0.1", false), SASL: "SCRAM-SHA-512", User: "u", Password: "secret"},
			kafka.Security{CAFile: ca.File, SASL: "scram-sha-512", User: "u", Password: "secret"},
			kafka.Security{CAFile: ca.File},
			"--kafka-tls",
		},
		"OAUTHBEARER by a file": {
			brokertest.Security{Token: "fresh"},
			kafka.Security{SASL: "oauthbearer", TokenFile: token},
			kafka.Security{SASL: "oauthbearer", TokenFile: file(t, "token", "stale")},
			"the login",
		},
		"OAUTHBEARER by a command": {
			brokertest.Security{Token: "fresh"},
			kafka.Security{SASL: "oauthbearer", TokenCommand: "cat " + token},
			kafka.Security{}, // no login at all
			"--kafka-sasl",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := brokertest.Listen(t, c.listener)
			if err := reaches(t, addr, c.right); err != nil {
				t.Errorf("a client that has what it asks for: %v", err)
			}
			err := reaches(t, addr, c.wrong)
			if err == nil {
				t.Fatal("it takes a client that has not")
			}
			told := kafka.Config{Brokers: []string{addr}, Security: c.wrong}.Unreached(err).Error()
			if !strings.Contains(told, addr) || !strings.Contains(told, c.says) || strings.Contains(told, "guessed") || strings.Contains(told, "stale") {
				t.Errorf("a client that has not is told: %s", told)
			}
		})
	}
}

// Settings that cannot work are refused before anything is dialled, by errors that
// have no secret.
func TestSecuritySettingsThatCannotWorkAreRefused(t *testing.T) {
	for says, s := range map[string]kafka.Security{
		"no SASL mechanism":       {User: "u"},
		"there is no SASL":        {SASL: "gssapi"},
		"needs a user":            {SASL: "plain", Password: "hush"},
		"needs a password":        {SASL: "plain", User: "u"},
		"one of both":             {SASL: "plain", User: "u", Password: "hush", PasswordFile: "f"},
		"no such file":            {SASL: "plain", User: "u", PasswordFile: "/nowhere/pw"},
		"is empty":                {SASL: "oauthbearer", TokenFile: file(t, "t", "\n")},
		"no user and no password": {SASL: "oauthbearer", TokenCommand: "true", User: "u"},
		"command is empty":        {SASL: "oauthbearer", TokenCommand: " "},
		"executable file not":     {SASL: "oauthbearer", TokenCommand: "no-such-program-here --token"},
		"token command":           {SASL: "oauthbearer", TokenCommand: "./nowhere; echo hush"},
		"CA file":                 {CAFile: "/nowhere/ca"},
		"no certificate in PEM":   {CAFile: file(t, "ca", "hush")},
		"go together":             {CertFile: "c"},
	} {
		err := s.Check()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: the error is %v", says, err)
		}
	}
	if err := (kafka.Security{}).Check(); err != nil {
		t.Error(err)
	}
}

// Values win over settings.
func TestTLSAsAValueWins(t *testing.T) {
	ca := brokertest.NewAuthority(t)
	addr := brokertest.Listen(t, brokertest.Security{TLS: ca.Server(t, "127.0.0.1", false)})
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(ca.File)
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	cl, err := kafka.NewAdmin(kafka.Config{
		Brokers: []string{addr}, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, Security: kafka.Security{ServerName: "other.test"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := cl.Ping(ctx); err != nil {
		t.Error(err)
	}
}
