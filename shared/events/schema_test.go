package events_test

import (
	"context"
	"os"
	"reflect"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

func TestPublishedSchemaIsUpToDate(t *testing.T) {
	have, err := os.ReadFile("heddle.proto")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != events.Schema() {
		t.Fatal("heddle.proto is not what the messages describe: run `make generate`")
	}
}

func publishedSchema(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}
	files, err := c.Compile(context.Background(), "heddle.proto")
	if err != nil {
		t.Fatalf("compiling the published schema: %v", err)
	}
	return files[0]
}

// A reader that has nothing of ours but heddle.proto reads our bytes, knows
// every field in them, and writes the same bytes.
func TestForeignReadersAgree(t *testing.T) {
	messages := publishedSchema(t).Messages()
	foreign := func(t *rapid.T, m wire.Message) {
		desc := messages.ByName(protoreflect.Name(reflect.TypeOf(m).Elem().Name()))
		ours := wire.Marshal(m)
		theirs := dynamicpb.NewMessage(desc)
		if err := proto.Unmarshal(ours, theirs); err != nil {
			t.Fatalf("%s: a foreign reader fails: %v\n%x", desc.Name(), err, ours)
		}
		if unknown := unknownFields(theirs); len(unknown) > 0 {
			t.Fatalf("%s has fields that the schema does not name: %x", desc.Name(), unknown)
		}
		back, err := proto.MarshalOptions{Deterministic: true}.Marshal(theirs)
		if err != nil || string(back) != string(ours) {
			t.Fatalf("%s: foreign bytes (%v)\n%x\nours\n%x", desc.Name(), err, back, ours)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, m := range roots(random{t}) {
			foreign(t, m)
		}
	})
	rapid.Check(t, func(t *rapid.T) { // every kind, with all fields
		for _, m := range samples() {
			foreign(t, m)
		}
	})
}

func unknownFields(m protoreflect.Message) []byte {
	unknown := m.GetUnknown()
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for i := range v.List().Len() {
				unknown = append(unknown, unknownFields(v.List().Get(i).Message())...)
			}
		default:
			unknown = append(unknown, unknownFields(v.Message())...)
		}
		return true
	})
	return unknown
}
