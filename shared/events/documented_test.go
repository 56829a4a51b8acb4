package events_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

func kafkaDocument(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/kafka.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// docs/kafka.md has each command with its fields, and each header that a command may have.
func TestEachCommandIsDocumented(t *testing.T) {
	text := kafkaDocument(t)
	for name, body := range events.CommandBodies() {
		row := regexp.MustCompile("(?m)^\\| `" + name + "` \\|.*$").FindString(text)
		if row == "" {
			t.Errorf("the command %s is not documented", name)
		}
		for _, field := range reflect.VisibleFields(reflect.TypeOf(body).Elem()) {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if tag != "" && !strings.Contains(row, "`"+tag+"`") {
				t.Errorf("%s: its field %s is not documented", name, tag)
			}
		}
	}
	for _, header := range []string{
		events.HeaderID, events.HeaderSource, events.HeaderType, events.HeaderTrace, events.HeaderReplyTo, events.HeaderReplyID, events.HeaderReplyWait,
	} {
		if !strings.Contains(text, "| `"+header+"` |") {
			t.Errorf("the header %s is not documented", header)
		}
	}
}

func TestDocumentedCommandsAreRead(t *testing.T) {
	section, _, _ := strings.Cut(kafkaDocument(t), "\n## Answers")
	examples := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindAllStringSubmatch(section, -1)
	if len(examples) != 2 {
		t.Fatalf("%d examples were found", len(examples))
	}
	for _, e := range examples {
		if _, err := events.ParseCommand([]byte("w1"), nil, []byte(e[1]), "commands/0@0"); err != nil {
			t.Errorf("%s: %v", e[1], err)
		}
	}
}

// docs/kafka.md has each field of an answer.
func TestEachFieldOfAnAnswerIsDocumented(t *testing.T) {
	_, answers, _ := strings.Cut(kafkaDocument(t), "\n## Answers\n")
	for f := range reflect.TypeFor[events.Reply]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "-" && !strings.Contains(answers, "`"+name+"`") {
			t.Errorf("the field %s of an answer is not documented", name)
		}
	}
}
