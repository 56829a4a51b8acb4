package conformance_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/conformance"
	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/services/executor/keeping"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/frames"
)

const runnersToken = "a token of runners"

// deployment is one of the program's own in a bubble, whose times are virtual, with two executors that ask runners for a token. change changes
// them.
func deployment(t *testing.T, change ...func(*runners.Config)) conformance.ServerOptions {
	t.Helper()
	network := new(broker.Network)
	d, err := dev.Start(t.Context(), dev.Options{Memory: true, NoArchive: true, Partitions: 2, Network: network, Kafka: "localhost:9092"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.HTTPClient.CloseIdleConnections()
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	sum := sha256.Sum256([]byte(runnersToken))
	key, err := access.ParseKey("runner:write:" + hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	o := conformance.ServerOptions{Token: runnersToken, HTTP: d.HTTPClient}
	for _, addr := range []string{"localhost:81", "localhost:82"} {
		c := runners.Config{Kafka: kafka.Config{Brokers: d.Brokers, Prefix: d.Prefix, Dialer: network.DialContext}, Keys: access.Keys{key}}
		keeper := keeping.New(keeping.Config{Kafka: c.Kafka})
		t.Cleanup(func() {
			if err := keeper.Close(); err != nil {
				t.Error(err)
			}
		})
		c.KV = keeper
		for _, f := range change {
			f(&c)
		}
		executor(t, network, addr, c)
		o.URLs = append(o.URLs, "ws://"+addr)
	}
	if o.API, err = client.New(t.Context(), client.Options{URL: d.URL, HTTPClient: d.HTTPClient}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.API.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// executor serves runners at an address.
func executor(t *testing.T, network *broker.Network, addr string, c runners.Config) {
	t.Helper()
	s, err := runners.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := network.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: s} //nolint:gosec // within the process
	ended := make(chan struct{})
	go func() { defer close(ended); _ = h.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
}

// A deployment of ours passes all cases, and in the binary form those that are about frames.
func TestOurDeploymentPassesAllCases(t *testing.T) {
	for encoding, want := range map[frames.Encoding][]string{
		frames.JSON: conformance.ServerCases(), frames.Binary: {"C01", "C04", "C11", "D01", "E02", "K01", "K05", "K06", "M02", "W01"},
	} {
		t.Run(encoding.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := deployment(t)
				o.Encoding, o.Only = encoding, want
				var played []string
				err := conformance.RunServer(t.Context(), o, func(r conformance.Result) {
					played = append(played, r.Name)
					if r.Failure != "" {
						t.Errorf("%s, %s: %s", r.Name, r.About, r.Failure)
					}
				})
				slices.Sort(played)
				slices.Sort(want)
				if err != nil || !slices.Equal(played, want) {
					t.Errorf("played %q, %v", played, err)
				}
			})
		})
	}
}

// A deployment that does one thing wrong does not pass the case that is about it.
func TestEachFlawOfADeploymentIsNoticed(t *testing.T) {
	for name, flaw := range map[string]func(*runners.Config){
		"C02": func(c *runners.Config) { c.Times.Init = 12 * time.Second },
		"P01": func(c *runners.Config) { c.Times.Silence = 2 * time.Second },
		"P03": func(c *runners.Config) { c.Times.Silence = 14 * time.Second },
		"K01": func(c *runners.Config) { c.KV = nil },
		"E05": func(c *runners.Config) { c.Times.Ack = 5 * time.Second },
		"T01": func(c *runners.Config) { c.Keys, c.Insecure = nil, true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := deployment(t, flaw)
				o.Only = []string{name}
				told := 0
				err := conformance.RunServer(t.Context(), o, func(r conformance.Result) {
					if told++; r.Name != name || r.Failure == "" {
						t.Errorf("%s is passed", r.Name)
					}
				})
				if err != nil || told != 1 {
					t.Errorf("told %d times, %v", told, err)
				}
			})
		})
	}
}

func TestADeploymentThatCannotBeTriedIsAnError(t *testing.T) {
	api := &client.Client{}
	for what, o := range map[string]conformance.ServerOptions{
		"no URL":          {API: api},
		"no API":          {URLs: []string{"ws://localhost"}},
		"no URL at all":   {API: api, URLs: []string{"::"}},
		"another scheme":  {API: api, URLs: []string{"ftp://localhost"}},
		"another path":    {API: api, URLs: []string{"ws://localhost/elsewhere"}},
		"a query":         {API: api, URLs: []string{"ws://localhost?pool=a"}},
		"an unknown case": {API: api, URLs: []string{"ws://localhost"}, Only: []string{"Z99"}},
	} {
		if conformance.RunServer(t.Context(), o, func(conformance.Result) {}) == nil {
			t.Errorf("%s is taken", what)
		}
	}
}
