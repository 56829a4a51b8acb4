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
	"github.com/heddle-run/heddle/shared/events"
)

// suspects is a file beside a store, which is there while a reign lasts: whoever
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

// mostDeaths is how often an input may end the process before it is set aside.
const mostDeaths = 2

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

// begin notes that an input is about to be decided, and says how often the
// process has ended at it.
func (s *suspects) begin(key string) (int, error) {
	s.open = true
	if err := s.say(lineBegun + " " + key + "\n"); err != nil {
		return 0, fmt.Errorf("noting the input that is decided: %w", err)
	}
	return s.deaths[key], nil
}

// rest notes that the process has outlived what it was deciding.
func (s *suspects) rest() error {
	if !s.open {
		return nil
	}
	s.open = false
	if err := s.say(lineRests + "\n"); err != nil {
		return fmt.Errorf("noting that inputs are decided: %w", err)
	}
	return nil
}

// end removes the file: the reign ended, and the process goes on.
func (s *suspects) end(path string) error {
	err := errors.Join(s.file.Close(), s.fs.Remove(path))
	if err != nil {
		return fmt.Errorf("removing the file of the inputs that are being decided: %w", err)
	}
	return nil
}

// leave leaves the file to the next reign, with nothing being decided.
func (s *suspects) leave() error {
	if err := errors.Join(s.rest(), s.file.Close()); err != nil {
		return fmt.Errorf("leaving the file of the inputs that are being decided: %w", err)
	}
	return nil
}

// wariness is how an owner decides behind an unclean end: one input at a time, each
// noted before, as far as the last owner may have come.
type wariness struct {
	marks   *suspects   // nil: the last owner ended in order
	on      bool        // inputs that were in flight are to come
	until   [logs]int64 // the ends of their logs
	left    [logs]int   // how many of each log may still come that are recorded
	overdue int64       // Unix ms: timers due up to then were in flight, too
}

// beware makes the owner wary of the inputs up to the ends of their logs, or until
// as many are recorded as may have been in flight. Of those that leave no record
// (repetitions) any number may lie between them.
func (p *Processor) beware(marks *suspects, ends [logs]int64) {
	p.wary = wariness{marks: marks, on: true, until: ends, overdue: p.clock.now}
	for _, s := range inputs {
		p.wary.left[s] = p.Settings.InflightRecords
	}
}

// suspect notes an input that was in flight, and says why it is not decided: it has
// ended the process before.
func (p *Processor) suspect(d *decision) (defect string) {
	key := p.wary.key(d)
	if key == "" {
		return ""
	}
	deaths, err := p.wary.marks.begin(key)
	p.fail(err)
	if deaths < mostDeaths {
		return ""
	}
	p.Logger.Error("an input has ended the process and is set aside", "partition", p.Partition, "workflow", d.in.Workflow, "input", key, "times", deaths)
	return fmt.Sprintf("the process ended %d times while it decided this", deaths)
}

// key names an input that was in flight; "": it was not, or nobody is wary.
func (w *wariness) key(d *decision) string {
	switch s := d.ref.Source; {
	case w.marks == nil:
	case d.in.Timer != nil && int64(d.in.Timer.A) <= w.overdue:
		return fmt.Sprintf("timer/%x", d.in.Timer.Append(nil))
	case w.on && d.raw != nil && d.own == nil && s < logs && d.ref.Offset < w.until[s] && w.left[s] > 0:
		return fmt.Sprintf("%s/%d/%d/%x", s, d.ref.Generation, d.ref.Offset, d.ref.Digest)
	}
	return ""
}

// recorded counts an input that leaves a record.
func (w *wariness) recorded(s events.Source) {
	if w.on && s < logs {
		w.left[s]--
	}
}

// outlived notes at the end of a step that the process is alive, and ends the
// wariness behind what was in flight.
func (p *Processor) outlived() {
	w := &p.wary
	if w.marks == nil {
		return
	}
	p.fail(w.marks.rest())
	w.on = w.on && slices.ContainsFunc(inputs[:], func(s events.Source) bool { return w.left[s] > 0 && p.inputs[s].next < w.until[s] })
}
