// Images is a runner that makes thumbnails of the pictures of a directory. With -draw it draws such pictures instead.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/heddle-run/heddle/examples/images/picture"
	"github.com/heddle-run/heddle/sdk/runner"
	"github.com/heddle-run/heddle/sdk/task"
)

// Order is what is wanted: a thumbnail of a picture.
type Order struct {
	Picture string `json:"picture"` // name of a file
	Width   int    `json:"width"`   // of the thumbnail, in pixels
}

// Made tells of a thumbnail.
type Made struct {
	Picture string `json:"picture"`
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Sum     string `json:"sum"` // of its pixels
	By      string `json:"by"`  // the language of the runner
}

// Thumbnail is the task that the runners of the pool serve.
var Thumbnail = task.Define[Order, Made]("images.thumbnail")

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	in := flag.String("in", "pictures", "`directory` of the pictures")
	out := flag.String("out", "thumbnails", "`directory` of the thumbnails")
	slots := flag.Int("slots", 4, "thumbnails that are made at a time")
	drawn := flag.Int("draw", 0, "draw so many pictures, and end")
	flag.Parse()
	if *drawn > 0 {
		return drawAll(*in, *drawn)
	}
	s, err := open(*in, *out)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// HEDDLE_RUNNER_URL, _KEY and _TOKEN say the rest; without a URL a running `heddle dev` is found.
	r, err := runner.New(runner.Options{Pool: cmp.Or(os.Getenv("HEDDLE_RUNNER_POOL"), "thumbs"), Slots: *slots})
	if err != nil {
		return err
	}
	runner.Handle(r, Thumbnail, s.thumbnail)
	return r.Run(ctx)
}

// studio has the two directories. No name leads out of them.
type studio struct {
	in, out *os.Root
}

func open(in, out string) (*studio, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	from, err := os.OpenRoot(in)
	if err != nil {
		return nil, err
	}
	to, err := os.OpenRoot(out)
	if err != nil {
		return nil, err
	}
	return &studio{from, to}, nil
}

// thumbnail makes one thumbnail. It may run again, and beside itself: the file is there once it is whole, and is the same
// each time.
func (s *studio) thumbnail(_ context.Context, o Order) (Made, error) {
	if o.Width < 1 {
		return Made{}, badOrder("the width is %d, want 1 or more", o.Width)
	}
	if filepath.Base(o.Picture) != o.Picture || strings.HasPrefix(o.Picture, ".") {
		return Made{}, badOrder("%q is no name of a picture", o.Picture)
	}
	src, err := s.read(o.Picture)
	if err != nil {
		return Made{}, err
	}
	small := picture.Scale(src, o.Width)
	if err := s.write(o.Picture, small); err != nil {
		return Made{}, err
	}
	return Made{Picture: o.Picture, Width: small.Rect.Dx(), Height: small.Rect.Dy(), Sum: picture.Sum(small), By: "go"}, nil
}

func badOrder(format string, args ...any) error {
	return &task.Error{Type: "bad_order", Message: fmt.Sprintf(format, args...), NonRetryable: true}
}

func (s *studio) read(name string) (image.Image, error) {
	f, err := s.in.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &task.Error{Type: "no_picture", Err: err, NonRetryable: true}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := png.Decode(f)
	if err != nil {
		return nil, &task.Error{Type: "bad_picture", Err: fmt.Errorf("%s: %w", name, err), NonRetryable: true}
	}
	return src, nil
}

// write gives a file its name when it is whole.
func (s *studio) write(name string, p image.Image) error {
	part := "." + name + "." + rand.Text()
	f, err := s.out.Create(part)
	if err != nil {
		return err
	}
	if err := errors.Join(png.Encode(f, p), f.Close()); err != nil {
		return errors.Join(err, s.out.Remove(part))
	}
	return s.out.Rename(part, name)
}

// drawAll draws pictures of 160 by 120 pixels.
func drawAll(dir string, count int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for n := range count {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("p-%04d.png", n)))
		if err != nil {
			return err
		}
		if err := errors.Join(png.Encode(f, picture.Draw(n, 160, 120)), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
