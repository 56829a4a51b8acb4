package kafka

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Unreached says what may keep a client with this configuration from its cluster:
// where it was looked for, why that failed, and the setting to look at.
func (c Config) Unreached(err error) error {
	return fmt.Errorf("reaching Kafka at %s: %w; %s", strings.Join(c.Brokers, ", "), err, c.reachHint(err))
}

// reachHint guesses from outside, where much looks the same.
func (c Config) reachHint(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "an authority of one's own is named by --kafka-ca-file, in a program by Security.CAFile"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "another name than that of the host is given by --kafka-server-name, in a program by Security.ServerName"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" { // an alert of TLS
		return "is the certificate of --kafka-cert-file (Security.CertFile) one that the broker trusts?"
	}
	if c.logsIn() && refusesLogin(err) {
		return "the login may be refused: are --kafka-sasl (Security.SASL), the user and the password or token those of the brokers?"
	}
	if encrypts, err := c.Security.tlsConfig(); c.TLS != nil || encrypts != nil && err == nil {
		return "is it a Kafka broker that speaks TLS at this port (one that does not is reached without --kafka-tls, Security.TLS), and does it want a login (--kafka-sasl, Security.SASL)?"
	}
	return "is it a Kafka broker, and does it want TLS (--kafka-tls, Security.TLS) or a login (--kafka-sasl, Security.SASL)?"
}

func (c Config) logsIn() bool {
	return c.SASL != nil || c.Security.SASL != "" && c.Security.SASL != "none"
}

// refusesLogin reports whether an error may be the answer to a login. Some brokers
// close the connection and say nothing.
func refusesLogin(err error) bool {
	return errors.Is(err, kerr.SaslAuthenticationFailed) || errors.Is(err, kerr.UnsupportedSaslMechanism) || errors.Is(err, kerr.IllegalSaslState) ||
		errors.Is(err, io.EOF)
}
