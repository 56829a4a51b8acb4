package main

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
)

// A deployment whose brokers ask for TLS and a login, and whose gateway serves
// https to clients with a key: every service runs on it, and every kind of command
// talks to it. No secret shows.
func TestASecuredDeploymentIsServedAndUsed(t *testing.T) {
	elsewhere(t)
	ca := brokertest.NewAuthority(t)
	const password, key = "swordfish-of-kafka", "swordfish-of-gateway"
	brokers := brokertest.Listen(t, brokertest.Security{
		TLS: ca.Server(t, "127.0.0.1", true), SASL: "SCRAM-SHA-512", User: "heddle", Password: password,
	})
	t.Setenv("HEDDLE_BROKERS", brokers)
	if code, _, err := soon(t, "topics", "apply", "--partitions", "2"); code != codeUnreachable || !strings.Contains(err, "--kafka-tls") {
		t.Errorf("without TLS and login: exit %d, %s", code, err)
	}
	write(t, "heddle.yaml", "kafka_ca_file: "+ca.File+"\nkafka_cert_file: "+ca.ClientCert+"\nkafka_key_file: "+ca.ClientKey+"\nkafka_sasl: scram-sha-512\n")
	t.Setenv("HEDDLE_KAFKA_USER", "heddle")
	t.Setenv("HEDDLE_KAFKA_PASSWORD", password)
	succeed(t, "topics", "apply", "--partitions", "2")
	guess := write(t, "guess", "swordfish-of-nobody")
	for _, args := range [][]string{{"list"}, {"topics", "check"}} {
		t.Setenv("HEDDLE_KAFKA_PASSWORD", "")
		code, _, err := soon(t, append(args, "--kafka-password-file", guess)...)
		if code != codeUnreachable || !strings.Contains(err, brokers) || !strings.Contains(err, "login") || strings.Contains(err, "swordfish") {
			t.Errorf("%s with a wrong password: exit %d, %s", args[0], code, err)
		}
	}
	t.Setenv("HEDDLE_KAFKA_PASSWORD", password)

	sum := sha256.Sum256([]byte(key))
	cert, certKey := ca.Files(t, "127.0.0.1")
	logs := []*output{
		serving(t, "planner", "planner", "--data", t.TempDir(), "--token-key", "0123456789abcdef", "--log-level", "debug"),
		serving(t, "executor", "executor", "--test"),
		serving(t, "readiness", "readiness"),
		serving(t, "gateway", "gateway", "--http", "127.0.0.1:0", "--api-keys", "me:write:"+hex.EncodeToString(sum[:]),
			"--http-cert-file", cert, "--http-key-file", certKey, "--log-level", "debug"),
	}
	var url []string
	eventually(t, "the gateway serves", func() bool {
		url = regexp.MustCompile(`url=(https://\S+)`).FindStringSubmatch(logs[3].String())
		return url != nil
	})
	write(t, "shout.yaml", shout)
	gateway := []string{"--url", url[1], "--ca-file", ca.File}
	with := func(args ...string) []string { return append(args, gateway...) }

	if code, _, err := soon(t, with("list")...); code != codeFailed || !strings.Contains(err, "unauthenticated") || !strings.Contains(err, "HEDDLE_API_KEY") {
		t.Errorf("without a key: exit %d, %s", code, err)
	}
	if code, _, err := soon(t, "list", "--url", url[1], "--api-key", key); code != codeUnreachable || !strings.Contains(err, "--ca-file") {
		t.Errorf("without the CA: exit %d, %s", code, err)
	}
	if code, _, err := soon(t, "list", "--url", strings.Replace(url[1], "https", "http", 1), "--api-key", key); code != codeUnreachable || !strings.Contains(err, "speaks https") {
		t.Errorf("without TLS: exit %d, %s", code, err)
	}
	t.Setenv("HEDDLE_API_KEY", key)
	succeed(t, with("define", "shout.yaml")...)
	contains(t, succeed(t, with("run", "shout", "name=ann", "--id", "w")...), `"HELLO ANN"`) // events over SSE
	contains(t, succeed(t, with("watch", "w")...), "WorkflowIdle")
	contains(t, succeed(t, "watch", "w"), "WorkflowIdle") // over Kafka, by HEDDLE_BROKERS
	contains(t, succeed(t, "get", "w"), "idle")
	contains(t, succeed(t, "journal", "dump", "w"), "WorkflowStarted")

	settings := succeed(t, "config", "get")
	contains(t, settings, "(hidden)", "scram-sha-512")
	all := settings
	for _, log := range logs {
		all += log.String()
	}
	if strings.Contains(all, "swordfish") {
		t.Error("a secret is shown by the settings or a log")
	}
}

// The key comes by a file too, and a file that has none is told of.
func TestTheAPIKeyComesByAFile(t *testing.T) {
	elsewhere(t)
	for text, want := range map[string]string{"k-1\n": "k-1", "\n": ""} {
		key, err := (&gatewayAccess{APIKeyFile: write(t, "key", text)}).key()
		if key != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", text, key, err)
		}
	}
	if code, _, err := heddle(t, "", "get", "w", "--api-key", "a", "--api-key-file", "key"); code != codeUsage || !strings.Contains(err, "not both") {
		t.Errorf("both: exit %d, %s", code, err)
	}
	if code, _, err := heddle(t, "", "get", "w", "--brokers", "127.0.0.1:1", "--kafka-sasl", "plain"); code != codeUsage || !strings.Contains(err, "needs a user") {
		t.Errorf("a login without a user: exit %d, %s", code, err)
	}
}
