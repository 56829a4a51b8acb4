package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Security says how clients are encrypted and who they are, in values that a
// setting can have. The zero value is plain text without a login. Files are read
// again by each new client, and a client's certificate, password and token at each
// new connection: they may be renewed while a process runs.
type Security struct {
	TLS        bool   // also without any of the following four
	CAFile     string // certificates in PEM that the brokers' come from; empty: those of the system
	CertFile   string // this client's own certificate in PEM; empty: none
	KeyFile    string // and its key
	ServerName string // in the brokers' certificates; empty: the host that is dialled

	SASL         string // plain, scram-sha-256, scram-sha-512, oauthbearer; empty or none: no login
	User         string
	Password     string
	PasswordFile string // in place of Password
	TokenFile    string // for oauthbearer
	TokenCommand string // prints the token; words at spaces, no shell, run for each connection; in place of TokenFile
}

// ErrSecurity is what errors of settings are, as against those of a cluster.
var ErrSecurity = errors.New("the security settings of Kafka are wrong")

// secured adds what Security says to a configuration. What was given as a value
// wins.
func (c Config) secured() (Config, error) {
	var err error
	if c.TLS == nil {
		if c.TLS, err = c.Security.tlsConfig(); err != nil {
			return c, fmt.Errorf("%w: %w", ErrSecurity, err)
		}
	}
	if c.SASL == nil {
		if c.SASL, err = c.Security.mechanism(); err != nil {
			return c, fmt.Errorf("%w: %w", ErrSecurity, err)
		}
	}
	return c, nil
}

// Check says what is wrong with the settings and the files that they name.
func (s Security) Check() error {
	_, err := Config{Security: s}.secured()
	return err
}

// tlsConfig is nil for plain text.
func (s Security) tlsConfig() (*tls.Config, error) {
	if !s.TLS && s.CAFile == "" && s.CertFile == "" && s.KeyFile == "" && s.ServerName == "" {
		return nil, nil //nolint:nilnil // nil is plain text, as in Config
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.ServerName}
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the CA file: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the CA file %s has no certificate in PEM", s.CAFile)
		}
	}
	if (s.CertFile == "") != (s.KeyFile == "") {
		return nil, errors.New("a client's certificate and its key go together: one of both files is missing")
	}
	if s.CertFile == "" {
		return t, nil
	}
	own := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate: %w", err)
		}
		return &pair, nil
	}
	t.GetClientCertificate = own
	_, err := own(nil)
	return t, err
}

// mechanism is nil for no login.
func (s Security) mechanism() (sasl.Mechanism, error) {
	switch s.SASL {
	case "", "none":
		if s.User != "" || s.Password != "" || s.PasswordFile != "" || s.TokenFile != "" || s.TokenCommand != "" {
			return nil, errors.New("there is a user, a password or a token, but no SASL mechanism: " + mechanisms)
		}
		return nil, nil //nolint:nilnil // nil is no login, as in Config
	case "oauthbearer":
		return s.bearer()
	case "plain", "scram-sha-256", "scram-sha-512":
	default:
		return nil, fmt.Errorf("there is no SASL mechanism %q: %s", s.SASL, mechanisms)
	}
	if s.User == "" {
		return nil, fmt.Errorf("SASL %s needs a user", s.SASL)
	}
	if (s.Password == "") == (s.PasswordFile == "") {
		return nil, fmt.Errorf("SASL %s needs a password or a file that has it, one of both", s.SASL)
	}
	if _, err := s.password(); err != nil {
		return nil, err
	}
	return s.byPassword(), nil
}

const mechanisms = "want plain, scram-sha-256, scram-sha-512 or oauthbearer"

// byPassword asks for the password whenever a connection logs in.
func (s Security) byPassword() sasl.Mechanism {
	if s.SASL == "plain" {
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			pass, err := s.password()
			return plain.Auth{User: s.User, Pass: pass}, err
		})
	}
	auth := func(context.Context) (scram.Auth, error) {
		pass, err := s.password()
		return scram.Auth{User: s.User, Pass: pass}, err
	}
	if s.SASL == "scram-sha-256" {
		return scram.Sha256(auth)
	}
	return scram.Sha512(auth)
}

func (s Security) password() (string, error) {
	if s.PasswordFile == "" {
		return s.Password, nil
	}
	return secretFile("password", s.PasswordFile)
}

// secretFile reads a secret. No error has any of it.
func secretFile(what, file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the %s file: %w", what, err)
	}
	text := strings.TrimRight(string(b), "\r\n")
	if text == "" {
		return "", fmt.Errorf("the %s file %s is empty", what, file)
	}
	return text, nil
}
