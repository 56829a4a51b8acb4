package frames_test

import (
	"os"
	"reflect"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

func TestPublishedSchemaIsUpToDate(t *testing.T) {
	have, err := os.ReadFile("runner.proto")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != frames.Schema() {
		t.Fatal("runner.proto is not what the frames describe: run `make generate`")
	}
}

// A runner that has nothing of ours but runner.proto reads our binary frames, and we read its.
func TestForeignReadersAgree(t *testing.T) {
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}
	files, err := c.Compile(t.Context(), "runner.proto")
	if err != nil {
		t.Fatalf("compiling the published schema: %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, m := range both(t) {
			name := reflect.TypeOf(m).Elem().Name()
			theirs := dynamicpb.NewMessage(files[0].Messages().ByName(protoreflect.Name(name)))
			if err := proto.Unmarshal(wire.Marshal(m), theirs); err != nil {
				t.Fatalf("%s: a foreign reader fails: %v", name, err)
			}
			back, err := proto.MarshalOptions{Deterministic: true}.Marshal(theirs)
			if err != nil {
				t.Fatal(err)
			}
			own := reflect.New(reflect.TypeOf(m).Elem()).Interface().(wire.Message)
			if err := wire.Unmarshal(back, own); err != nil {
				t.Fatalf("%s: foreign bytes are not read: %v", name, err)
			}
			again := dynamicpb.NewMessage(theirs.Descriptor())
			if err := proto.Unmarshal(wire.Marshal(own), again); err != nil || !proto.Equal(theirs, again) {
				t.Fatalf("%s: foreign bytes came back as %s, want %s", name, wire.ToJSON(own), wire.ToJSON(m))
			}
		}
	})
}
