package definitions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/definition"
)

func parse(t *testing.T, src string) *definition.Definition {
	t.Helper()
	d, err := definition.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func register(t *testing.T, c *brokertest.Cluster, d *definition.Definition) {
	t.Helper()
	cl, err := kafka.NewEffectsProducer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, r := range definitions.Records(d) {
		if err := cl.ProduceSync(t.Context(), kafka.Keyed(c.Topics.Definitions(), r.Key, r.Value)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLabelsMoveAndDigestsStay(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	first := parse(t, `{"name":"double","version":"1","components":{"a":{"expr":"input * 2"}}}`)
	register(t, c, first)

	book, err := definitions.Open(ctx, c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	want := func(ref string, d *definition.Definition) {
		t.Helper()
		e, ok := book.Resolve(ref)
		if !ok || e.Digest != d.Digest || string(e.Canonical) != string(d.Canonical()) || e.Name != "double" {
			t.Fatalf("%s is %+v, %v; want %s", ref, e, ok, d.Digest)
		}
	}
	want("double", first)
	want("double@1", first)
	want(first.Digest, first)

	second := parse(t, `{"name":"double","version":"2","components":{"a":{"expr":"input + input"}}}`)
	register(t, c, second)
	if err := book.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	want("double", second)
	want("double@1", first)
	want("double@2", second)
	if v := book.Versions("double"); len(v) != 2 || v[0].Digest != second.Digest || v[1].Digest != first.Digest {
		t.Fatalf("versions: %+v", v)
	}

	register(t, c, first) // back to the first: the label moves again
	if err := book.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	want("double", first)
	if v := book.Versions("double"); len(v) != 2 || v[0].Digest != first.Digest {
		t.Fatalf("versions after registering again: %+v", v)
	}
	if _, ok := book.Resolve("triple"); ok {
		t.Fatal("triple was found")
	}
	if n := len(first.Canonical()) + len(second.Canonical()); book.Bytes() != n {
		t.Fatalf("the book has %d bytes, want %d", book.Bytes(), n)
	}
}

// A definition may be written in a transaction: its marker is the end of the log.
func TestABookEndsBehindATransaction(t *testing.T) {
	c := brokertest.Start(t, topics.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Config.Brokers...), kgo.Dialer(c.Config.Dialer), kgo.TransactionalID("writer"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	d := parse(t, `{"name":"double","version":"1","components":{"a":{"expr":"input * 2"}}}`)
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for _, r := range definitions.Records(d) {
		rec := &kgo.Record{Topic: c.Topics.Definitions(), Key: r.Key, Value: r.Value}
		if err := cl.ProduceSync(ctx, rec).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(kafka.Published(ctx, cl), cl.EndTransaction(ctx, kgo.TryCommit)); err != nil {
		t.Fatal(err)
	}
	book, err := definitions.Open(ctx, c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	if e, ok := book.Resolve("double@1"); !ok || e.Digest != d.Digest {
		t.Fatalf("double@1 is %+v, %v", e, ok)
	}
}
