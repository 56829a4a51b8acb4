package partition

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/internal/store"
)

// suspects is a file beside a store, which is there while a tenure lasts: an owner that
// finds one follows an owner whose process did not end in order. Such an owner
// notes in it which input it is about to decide, so that the next one knows at
// which the process ended, and how often.
type suspects struct {
	fs     store.FS
	path   string
	file   synced
	deaths map[string]int // of the process, by the input that it was deciding
	open   bool           // an input is being decided, or was when the process ended
	last   string
}

// synced is a file that can be made durable.
type synced interface {
	io.WriteCloser
	Sync() error
}

const (
	lineBegun = "begun"
	lineRests = "rests"
	lineDeath = "deaths"
)

// findSuspects reads what an owner before has left and begins a file of its own.
// unclean says that there was one.
func findSuspects(o store.Options) (s *suspects, unclean bool, err error) {
	s = &suspects{fs: o.Files(), path: o.Dir + ".deciding", deaths: map[string]int{}}
	if unclean, err = s.read(); err == nil {
		err = s.write()
	}
	if err != nil {
		return nil, false, fmt.Errorf("the file of the inputs that are being decided: %w", err)
	}
	return s, unclean, nil
}

// read takes over what there is. A line that is torn or rotten says nothing.
func (s *suspects) read() (found bool, err error) {
	f, err := s.fs.Open(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		s.line(strings.Fields(lines.Text()))
	}
	if s.open {
		s.deaths[s.last]++
		s.open = false
	}
	return true, f.Close()
}

func (s *suspects) line(words []string) {
	switch {
	case len(words) == 1 && words[0] == lineRests:
		s.open = false
	case len(words) == 2 && words[0] == lineBegun:
		s.open, s.last = true, words[1]
	case len(words) == 3 && words[0] == lineDeath:
		if n, err := strconv.Atoi(words[1]); err == nil {
			s.deaths[words[2]] = n
		}
	}
}

// write begins the file anew with what is known. It counts once it is whole.
func (s *suspects) write() error {
	made := s.path + ".new"
	f, err := s.fs.Create(made, store.FewWrites)
	if err != nil {
		return err
	}
	s.file = f
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.deaths)) {
		fmt.Fprintln(&text, lineDeath, s.deaths[key], key)
	}
	if err := s.say(text.String()); err != nil {
		return errors.Join(err, s.end(made))
	}
	if err := s.file.Sync(); err != nil {
		return errors.Join(err, s.end(made))
	}
	if err := s.fs.Rename(made, s.path); err != nil {
		return errors.Join(err, s.end(made))
	}
	return s.syncDir()
}

// say writes a text. It outlives the process, which is all that an input can end;
// to outlive the machine it would have to wait for the disk, before each of thousands
// of inputs.
func (s *suspects) say(text string) error {
	_, err := io.WriteString(s.file, text)
	return err
}

func (s *suspects) syncDir() error {
	dir, err := s.fs.OpenDir(s.fs.PathDir(s.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Begin notes that an input is about to be decided, and says how often the
// process has ended at it.
func (s *suspects) Begin(key string) (int, error) {
	s.open = true
	if err := s.say(lineBegun + " " + key + "\n"); err != nil {
		return 0, fmt.Errorf("noting the input that is decided: %w", err)
	}
	return s.deaths[key], nil
}

// Rest notes that the process has outlived what it was deciding.
func (s *suspects) Rest() error {
	if !s.open {
		return nil
	}
	s.open = false
	if err := s.say(lineRests + "\n"); err != nil {
		return fmt.Errorf("noting that inputs are decided: %w", err)
	}
	return nil
}

// end removes the file: the tenure ended, and the process goes on.
func (s *suspects) end(path string) error {
	err := errors.Join(s.file.Close(), s.fs.Remove(path))
	if err != nil {
		return fmt.Errorf("removing the file of the inputs that are being decided: %w", err)
	}
	return nil
}

// leave leaves the file to the next tenure, with nothing being decided.
func (s *suspects) leave() error {
	if err := errors.Join(s.Rest(), s.file.Close()); err != nil {
		return fmt.Errorf("leaving the file of the inputs that are being decided: %w", err)
	}
	return nil
}
