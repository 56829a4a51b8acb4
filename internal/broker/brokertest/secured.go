package brokertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Security is what a listener asks of its clients.
type Security struct {
	TLS            *tls.Config // nil: plain text
	SASL           string      // PLAIN, SCRAM-SHA-256, SCRAM-SHA-512; empty: none
	User, Password string
	Token          string // of OAUTHBEARER; empty: none
}

// Listen runs a bare broker that asks for that, until the test ends, and returns
// its address.
func Listen(t testing.TB, s Security) string {
	t.Helper()
	opts := []kfake.Opt{kfake.NumBrokers(1)}
	if s.TLS != nil {
		opts = append(opts, kfake.TLS(s.TLS))
	}
	if s.SASL != "" {
		opts = append(opts, kfake.EnableSASL(), kfake.Superuser(s.SASL, s.User, s.Password))
	}
	if s.Token != "" {
		opts = append(opts, kfake.ListenFn(func(network, addr string) (net.Listener, error) {
			ln, err := (&net.ListenConfig{}).Listen(t.Context(), network, addr)
			return bearerListener{ln, s.Token}, err
		}))
	}
	fake, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return fake.ListenAddrs()[0]
}

// Authority signs certificates of a test.
type Authority struct {
	File                  string // its own certificate
	ClientCert, ClientKey string // files of a client's

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

// NewAuthority makes one with files in a directory of the test's own.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir()}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.File, _ = a.sign(t, "ca", template)
	a.ClientCert, a.ClientKey = a.sign(t, "client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return a
}

// Files are those of a certificate for a host.
func (a *Authority) Files(t testing.TB, host string) (cert, key string) {
	t.Helper()
	template := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	return a.sign(t, "server", template)
}

// Server is the configuration of a listener at a host, mutual where it asks for
// its clients' certificates.
func (a *Authority) Server(t testing.TB, host string, mutual bool) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.Files(t, host))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if mutual {
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		config.ClientCAs.AddCert(a.cert)
	}
	return config
}

// sign makes a certificate with a key of its own; the first one signs itself.
func (a *Authority) sign(t testing.TB, name string, template *x509.Certificate) (cert, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(now.UnixNano()), now.Add(-time.Hour), now.Add(time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = template, own
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &own.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert == nil {
		a.key = own
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return a.write(t, name+".pem", "CERTIFICATE", der), a.write(t, name+"-key.pem", "PRIVATE KEY", secret)
}

func (a *Authority) write(t testing.TB, name, kind string, der []byte) string {
	t.Helper()
	file, err := os.CreateTemp(a.dir, "*-"+filepath.Base(name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := pem.Encode(file, &pem.Block{Type: kind, Bytes: der}); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}
