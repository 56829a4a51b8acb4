package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// What nobody could be told is found by its reason, without a raw byte of what
// strangers wrote; each entry can be printed whole.
func TestTheDeadLettersAreListed(t *testing.T) {
	elsewhere(t)
	running(t)
	if out := succeed(t, "dlq"); strings.Count(out, "\n") != 1 {
		t.Errorf("there is something in an empty queue:\n%s", out)
	}
	config := kafka.Config{Brokers: strings.Split(brokersOf(t), ","), Prefix: topics.DefaultPrefix}
	names, err := config.Names()
	if err != nil {
		t.Fatal(err)
	}
	cl, err := kafka.NewEffectsProducer(config)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for key, value := range map[string]string{
		"u1": `{"command":"start","definition":"d","bo\u001b[31mgus":1}`,
		"u2": "\x1b]0;title\a\xff\xfe",
		"u3": `{"command":"start","definition":"nonesuch"}`,
	} {
		if err := cl.ProduceSync(t.Context(), kafka.Keyed(names.Commands(), []byte(key), []byte(value))).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var heads listed[letterHead]
	eventually(t, "all three are there", func() bool {
		heads = listed[letterHead]{}
		if err := json.Unmarshal([]byte(succeed(t, "dlq", "-o", "json")), &heads); err != nil {
			t.Fatal(err)
		}
		return len(heads.Items) == 3
	})
	list := succeed(t, "dlq")
	contains(t, list, "u1", "unknown_field", "u2", "not_json", "u3", "unknown_definition", names.Commands()+"/")
	if out := succeed(t, "dlq", "--workflow", "u3"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "u3") {
		t.Errorf("of u3 there is:\n%s", out)
	}
	if out := succeed(t, "dlq", "--limit", "1"); strings.Count(out, "\n") != 2 {
		t.Errorf("the newest is:\n%s", out)
	}
	for _, h := range heads.Items {
		one := succeed(t, "dlq", h.Entry)
		contains(t, one, h.Workflow, "value")
		if all := one + list; strings.ContainsAny(all, "\x1b\a") || !utf8.ValidString(all) {
			t.Errorf("a raw byte reaches the terminal: %q", one)
		}
	}
	if code, _, err := heddle(t, "", "dlq", "1@99"); code != codeFailed || !strings.Contains(err, "no entry 1@99") {
		t.Errorf("an entry that is not there: exit %d, %s", code, err)
	}
	if code, _, err := heddle(t, "", "dlq", "x"); code != codeUsage || !strings.Contains(err, "PARTITION@OFFSET") {
		t.Errorf("no entry: exit %d, %s", code, err)
	}
}
