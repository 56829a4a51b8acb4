package typescript

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-run/heddle/examples/images/picture"
	"github.com/heddle-run/heddle/sdk/client"
)

const (
	example = "../../examples/images"
	count   = 1000 // of pictures
	width   = 48   // of thumbnails
	token   = "a key of runners"
)

// studio is a deployment of processes with runners of examples/images.
type studio struct {
	processes
	heddle             string // the binary
	kafka              string // address
	http, runners      string // addresses
	pictures, thumbs   string // directories
	planner, executor  *process
	inGo, inTypeScript *process
	client             *client.Client
}

// openStudio draws pictures, and starts a broker, the services and three runners, two of them in Go.
func openStudio(t *testing.T) *studio {
	t.Helper()
	ranIn(t, dir, "npm", "run", "--silent", "build")
	ranIn(t, example+"/typescript", "npm", "run", "--silent", "build")
	s := &studio{processes: processes{dir: t.TempDir()}, http: freeAddress(t), runners: freeAddress(t)}
	s.pictures, s.thumbs = filepath.Join(s.dir, "pictures"), filepath.Join(s.dir, "thumbnails")
	images := built(t, s.dir, "examples/images")
	if err := done(t.Context(), images, "-in", s.pictures, "-draw", fmt.Sprint(count)); err != nil {
		t.Fatal(err)
	}
	s.serve(t)
	s.inGo = s.runner(t, "go-1", images, "-in", s.pictures, "-out", s.thumbs)
	s.runner(t, "go-2", images, "-in", s.pictures, "-out", s.thumbs)
	s.inTypeScript = s.runner(t, "typescript", append(node(t), example+"/typescript/dist/main.js", s.pictures, s.thumbs)...)
	return s
}

// serve starts the broker and the services, and a client of them.
func (s *studio) serve(t *testing.T) {
	t.Helper()
	s.heddle, s.kafka = built(t, s.dir, "cmd/heddle"), freeAddress(t)
	s.start(t, "broker", nil, s.heddle, "broker", "--memory", "--kafka", s.kafka)
	eventually(t, "there are topics", func(ctx context.Context) error {
		return done(ctx, s.heddle, "topics", "apply", "--brokers", s.kafka, "--partitions", "4", "--queue", "images")
	})
	s.planner = s.service(t, "planner", "planner", "--http", freeAddress(t), "--data", filepath.Join(s.dir, "planner"), "--name", "planner-1", "--never-runs-twice",
		"--token-key", "a secret of the test", "--pools", "images=thumbs")
	key := fmt.Sprintf("studio:write:%x", sha256.Sum256([]byte(token)))
	s.executor = s.service(t, "executor", "executor", "--http", freeAddress(t), "--runners", s.runners, "--runners-keys", key)
	s.service(t, "readiness", "readiness", "--http", freeAddress(t))
	s.service(t, "gateway", "gateway", "--http", s.http, "--data", filepath.Join(s.dir, "gateway"))
	var err error
	if s.client, err = client.New(t.Context(), client.Options{URL: "http://" + s.http}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.client.Close() })
	eventually(t, "all is ready", func(ctx context.Context) error {
		r, err := s.client.Readiness(ctx)
		if err == nil && !r.Ready {
			err = fmt.Errorf("%+v", r)
		}
		return err
	})
}

// service starts a service under a name of its own.
func (s *studio) service(t *testing.T, service, name string, args ...string) *process {
	t.Helper()
	return s.start(t, name, nil, append([]string{s.heddle, service, "--brokers", s.kafka}, args...)...)
}

// runner starts a runner, and waits until the pool has it.
func (s *studio) runner(t *testing.T, key string, args ...string) *process {
	t.Helper()
	p := s.start(t, key, []string{"HEDDLE_RUNNER_URL=http://" + s.runners, "HEDDLE_RUNNER_POOL=thumbs", "HEDDLE_RUNNER_KEY=" + key, "HEDDLE_RUNNER_TOKEN=" + token}, args...)
	eventually(t, key+" is connected", func(ctx context.Context) error {
		_, err := s.connected(ctx, key)
		return err
	})
	return p
}

// connected is a runner that is connected, as its pool sees it.
func (s *studio) connected(ctx context.Context, key string) (client.Runner, error) {
	pool, err := s.client.Pool(ctx, "thumbs", client.PoolOptions{})
	if err != nil {
		return client.Runner{}, err
	}
	for _, r := range pool.Runners {
		if r.Key == key && r.State == "connected" {
			return r, nil
		}
	}
	return client.Runner{}, fmt.Errorf("%w: there are %+v", errAbsent, pool.Runners)
}

var errAbsent = errors.New("the pool has no such runner")

// made is how many thumbnails the workflow has.
func (s *studio) made(ctx context.Context, id string) (int, error) {
	w, err := s.client.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	return int(w.Counts.Completed), nil
}

// thumbnail is what runners tell of one.
type thumbnail struct {
	Picture       string
	Width, Height int
	Sum           string
	By            string
}

// A map of 1,000 pictures runs while a runner of each language, the executor and the planner are killed, one after the other, and started
// again: each thumbnail is right, and is in the result once.
func TestTheExampleOfImagesSurvivesKills(t *testing.T) {
	s := openStudio(t)
	definition, err := os.ReadFile(example + "/thumbnails.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Define(t.Context(), "thumbnails", definition); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("p-%04d.png", i))
	}
	run, err := s.client.Start(t.Context(), "thumbnails", map[string]any{"pictures": names, "width": width}, client.StartOptions{ID: "thousand"})
	if err != nil {
		t.Fatal(err)
	}
	for i, victim := range []*process{s.inGo, s.inTypeScript, s.executor, s.planner} {
		s.killAt(t, run.ID, (i+1)*count/6, victim)
	}
	got, err := client.Result[[]thumbnail](t.Context(), run, "thumbnails")
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, names, got)
	s.stop(t)
}

// killAt kills a process once so many thumbnails are made, a runner while it has work, and starts it again.
func (s *studio) killAt(t *testing.T, id string, many int, victim *process) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d thumbnails are made and %s has work", many, victim.name), func(ctx context.Context) error {
		n, err := s.made(ctx, id)
		if err == nil && n < many {
			err = fmt.Errorf("there are %d", n)
		}
		if err != nil || victim != s.inGo && victim != s.inTypeScript {
			return err
		}
		r, err := s.connected(ctx, victim.name)
		return cmp.Or(err, unless(r.Used > 0, "it has none"))
	})
	n, err := s.made(t.Context(), id)
	if err != nil || n >= count {
		t.Fatalf("%d thumbnails are made before %s is killed, %v", n, victim.name, err)
	}
	victim.kill(t)
	t.Logf("%s was killed when %d thumbnails were made", victim.name, n)
	victim.start(t)
}

func unless(ok bool, text string) error {
	if ok {
		return nil
	}
	return errors.New(text)
}

// check holds what came out against the pictures.
func (s *studio) check(t *testing.T, names []string, got []thumbnail) {
	t.Helper()
	if len(got) != len(names) {
		t.Fatalf("%d thumbnails, want %d", len(got), len(names))
	}
	by := map[string]int{}
	for i, g := range got {
		by[g.By]++
		small := picture.Scale(picture.Draw(i, 160, 120), width)
		want := thumbnail{names[i], width, 36, picture.Sum(small), g.By}
		if g != want {
			t.Errorf("thumbnail %d is %+v, want %+v", i, g, want)
		}
		f, err := os.Open(filepath.Join(s.thumbs, names[i]))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		kept, err := png.Decode(f)
		if err != nil || picture.Sum(picture.Scale(kept, width)) != want.Sum {
			t.Errorf("the file of thumbnail %d has other pixels, or none: %v", i, err)
		}
	}
	if by["go"] == 0 || by["typescript"] == 0 || by["go"]+by["typescript"] != count {
		t.Errorf("thumbnails by language of the runner: %v", by)
	}
	t.Logf("thumbnails by language of the runner: %v", by)
	w, err := s.client.Get(t.Context(), "thousand")
	if err != nil {
		t.Fatal(err)
	}
	if want := (client.Counts{Completed: count + 1}); w.Counts != want { // the component orders is one, too
		t.Errorf("its runnables are %+v, want %+v", w.Counts, want)
	}
}
