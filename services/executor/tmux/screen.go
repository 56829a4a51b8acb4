package tmux

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Screen is what a pane shows.
type Screen struct {
	Rows   []string
	X, Y   int  // of the cursor, from 0
	Cursor bool // it is shown: programs that hide it draw one of their own, anywhere
	Dead   bool // the pane's program has ended
	InMode bool // keys go to tmux itself: somebody reads back in the pane
}

const screenFormat = "#{cursor_x} #{cursor_y} #{cursor_flag} #{pane_dead} #{pane_in_mode}"

// screenOf reads a line of screenFormat and the rows behind it.
func screenOf(out string) (Screen, error) {
	head, rows, _ := strings.Cut(out, "\n")
	f := strings.Split(head, " ")
	if len(f) != 5 {
		return Screen{}, fmt.Errorf("tmux says of a pane %q", head)
	}
	x, err := strconv.Atoi(f[0])
	if err != nil || x < 0 {
		return Screen{}, fmt.Errorf("tmux says that the cursor's column is %q", f[0])
	}
	y, err := strconv.Atoi(f[1])
	if err != nil || y < 0 {
		return Screen{}, fmt.Errorf("tmux says that the cursor's row is %q", f[1])
	}
	return Screen{
		Rows: strings.Split(strings.TrimSuffix(rows, "\n"), "\n"),
		X:    x, Y: y, Cursor: f[2] == "1", Dead: f[3] == "1", InMode: f[4] != "0" && f[4] != "",
	}, nil
}

// Text is all rows.
func (s *Screen) Text() string { return strings.Join(s.Rows, "\n") }

// tail is how many characters of a text are looked for: a long one may not fit the screen.
const tail = 32

// Ends reports whether what stands before the cursor ends with the text, spaces and the lines of boxes
// aside: prompts wrap what is typed as they like. It is false where the cursor is not shown.
func (s *Screen) Ends(text string) bool {
	want := []rune(squeeze(text))
	if !s.Cursor || len(want) == 0 || s.Y >= len(s.Rows) {
		return false
	}
	row := []rune(s.Rows[s.Y])
	// The column counts cells, and some characters have two: then what is right of the cursor counts as well.
	before := strings.Join(s.Rows[:s.Y], "") + string(row[:min(s.X, len(row))])
	return strings.HasSuffix(squeeze(before), string(want[max(0, len(want)-tail):]))
}

// squeeze is a text without spaces and box drawings.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r >= '─' && r <= '╿' {
			return -1
		}
		return r
	}, text)
}
