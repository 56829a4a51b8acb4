package main

import (
	_ "embed"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-run/heddle/examples/images/picture"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/definition"
)

//go:embed thumbnails.yaml
var source []byte

func TestTheDefinitionTakesItsInput(t *testing.T) {
	def, err := definition.Parse(source)
	if err != nil || len(def.Warnings) > 0 {
		t.Fatalf("%+v, %v", def, err)
	}
	graph, err := definition.Compile(def)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graph.AcceptInput([]byte(`{"pictures": ["a.png"], "width": 20}`)); err != nil {
		t.Error(err)
	}
	if _, err := graph.AcceptInput([]byte(`{"pictures": ["a.png"], "width": 0}`)); err == nil {
		t.Error("a width of 0 is taken")
	}
}

// drawn is a studio with two pictures, and one that is none.
func drawn(t *testing.T) (s *studio, out string) {
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	if err := drawAll(in, 2); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "text.png"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := open(in, out)
	if err != nil {
		t.Fatal(err)
	}
	return s, out
}

func TestAThumbnailIsMadeAgainAndAgain(t *testing.T) {
	s, out := drawn(t)
	want := picture.Sum(picture.Scale(picture.Draw(1, 160, 120), 32))
	for range 2 {
		made, err := s.thumbnail(t.Context(), Order{Picture: "p-0001.png", Width: 32})
		if err != nil || made != (Made{"p-0001.png", 32, 24, want, "go"}) {
			t.Fatalf("%+v, %v", made, err)
		}
	}
	files, err := os.ReadDir(out)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	f, err := os.Open(filepath.Join(out, "p-0001.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kept, err := png.Decode(f)
	if err != nil || picture.Sum(picture.Scale(kept, 32)) != want {
		t.Errorf("the file has other pixels, or none: %v", err)
	}
}

func TestWhatCannotBeMadeIsNotTriedAgain(t *testing.T) {
	s, out := drawn(t)
	for _, c := range []struct {
		order Order
		want  string
	}{
		{Order{"p-0009.png", 32}, "no_picture"}, {Order{"text.png", 32}, "bad_picture"}, {Order{"p-0001.png", 0}, "bad_order"},
		{Order{"../in/p-0001.png", 32}, "bad_order"}, {Order{".", 32}, "bad_order"}, {Order{"", 32}, "bad_order"},
	} {
		_, err := s.thumbnail(t.Context(), c.order)
		if failed, ok := errors.AsType[*task.Error](err); !ok || failed.Type != c.want || !failed.NonRetryable {
			t.Errorf("%+v: %v, want %s", c.order, err, c.want)
		}
	}
	if files, err := os.ReadDir(out); err != nil || len(files) != 0 {
		t.Errorf("there are %v, %v", files, err)
	}
}
