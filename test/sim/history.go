package sim

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Line is one thing that happened in a run.
type Line struct {
	Text   string
	About  Subject
	Noise  bool   // time that passes, polls and other questions, what is sent but not written yet
	Digest uint64 // of the run up to here
}

// history is what has happened in a run, in order.
type history struct {
	keep  bool // the lines; else their digest only
	lines []Line
	sum   hash.Hash64 // of what was chosen, and of all that was written
}

func newHistory(keep bool) history { return history{keep: keep, sum: fnv.New64a()} }

func (h *history) digest() uint64 { return h.sum.Sum64() }

func (h *history) add(step int, at time.Duration, about Subject, noise bool, format string, args ...any) {
	line := stamp(step, at) + fmt.Sprintf(format, args...)
	h.take([]byte(line))
	if h.keep {
		h.lines = append(h.lines, Line{line, about, noise, h.digest()})
	}
}

// wrote takes a record into the digest: where it is, and all of its content.
func (h *history) wrote(rec *kgo.Record, p int32, offset int64) {
	h.take([]byte(rec.Topic))
	h.take(binary.AppendVarint(binary.AppendVarint(nil, int64(p)), offset))
	h.take(rec.Key)
	h.take(rec.Value)
	for _, header := range rec.Headers {
		h.take([]byte(header.Key))
		h.take(header.Value)
	}
}

// take takes a piece into the digest; its length keeps it apart from the next.
func (h *history) take(piece []byte) {
	_, _ = h.sum.Write(binary.AppendUvarint(nil, uint64(len(piece)))) // a hash never fails
	_, _ = h.sum.Write(piece)
}

// tell adds a line that only people need: it follows from the others.
func (h *history) tell(step int, at time.Duration, about Subject, text string) {
	h.lines = append(h.lines, Line{Text: stamp(step, at) + text, About: about, Digest: h.digest()})
}

func stamp(step int, at time.Duration) string { return fmt.Sprintf("%5d %12s  ", step, at) }
