package tmux

import (
	"strings"
	"testing"
)

func TestTargetsAreNamedExactly(t *testing.T) {
	var panes []Pane
	for _, line := range []string{"%0 0 0 0 0 0 7 main", "%1 0 0 1 1 0 7 main", "%2 1 1 0 1 0 7 main", "%10 0 1 0 1 1 7 main two", "%11 3 1 2 1 0 7 ma"} {
		p, err := paneOf(line)
		if err != nil {
			t.Fatal(err)
		}
		panes = append(panes, p)
	}
	for target, want := range map[string]string{
		"%1": "%1", "main": "%2", "main:0": "%1", "main:0.0": "%0", "main:1": "%2", "main two": "%10", "ma": "%11", "ma:3.2": "%11",
		"": "", "m": "", "main:2": "", "main:0.2": "", "%": "", "%12": "", "ma*": "", "=main": "", "main:": "", ":0": "", "{last}": "",
	} {
		p, ok := Find(panes, target)
		if p.ID != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", target, p.ID, ok, want)
		}
	}
	if p, _ := Find(panes, "main two"); !p.Dead || p.Session != "main two" || p.Server != "7" {
		t.Errorf("%+v", p)
	}
}

func TestWhatStandsBeforeTheCursor(t *testing.T) {
	const long = "please write the tests of the parser and run them all"
	for _, c := range []struct {
		name, out, text string
		want            bool
	}{
		{"typed", "6 0 1 0 0\n> do it", "do it", false}, // the cursor is within it
		{"typed", "7 0 1 0 0\n> do it", "do it", true},
		{"a hint right of the cursor", "7 0 1 0 0\n> do it   (press Enter)", "do it", true},
		{"a box, wrapped", "14 2 1 0 0\n╭──────╮\n│ > please write the tests of │\n│ the parser and run them all │\n╰──╯", long, false},
		{"a box, wrapped", "30 2 1 0 0\n╭──────╮\n│ > please write the tests of │\n│ the parser and run them all │\n╰──╯", long, true},
		{"the cursor is hidden", "7 0 0 0 0\n> do it", "do it", false},
		{"a new line only", "0 1 1 0 0\n> do it\n\n", "do it", true},
		{"an answer", "2 2 1 0 0\n> do it\ndone\n> ", "do it", false},
		{"wide characters", "8 0 1 0 0\n> 世界 x", "世界 x", true},
		{"nothing", "0 0 1 0 0\n", "", false},
		{"below all rows", "0 7 1 0 0\n> do it", "do it", false},
	} {
		s, err := screenOf(c.out)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Ends(c.text); got != c.want {
			t.Errorf("%s: %v, want %v: %q", c.name, got, c.want, c.out)
		}
	}
}

func TestWhatIsGone(t *testing.T) {
	for said, want := range map[string]bool{
		"no server running on /tmp/s":                                   true,
		"error connecting to /tmp/s (No such file or directory)":        true,
		"error connecting to /tmp/s (Permission denied)":                false,
		"can't find pane: %9":                                           true,
		"usage: send-keys [-FHlMRX] [-N repeat-count] [-t target-pane]": false,
		"": false,
	} {
		if gone(said) != want {
			t.Errorf("%q: %v, want %v", said, !want, want)
		}
	}
}

// Whatever tmux prints is refused, or taken for a screen and panes that can be asked.
func FuzzOutput(f *testing.F) {
	f.Add("7 0 1 0 0\n> do it\n", "do it")
	f.Add("0 1 1 0 0\n> do it\n\n", "do it")
	f.Add("%0 0 1 0 1 0 7 main", "main:0.0")
	f.Add("9999999999999999999999 -1 1 0 0\n", "")
	f.Add("7 0 1 0 0\n\xff", "\xff")
	f.Fuzz(func(t *testing.T, out, text string) {
		if s, err := screenOf(out); err == nil && s.Ends(text) && squeeze(s.Text()) == "" {
			t.Errorf("an empty screen ends with %q", text)
		}
		for line := range strings.Lines(out) {
			p, err := paneOf(strings.TrimSuffix(line, "\n"))
			if err != nil {
				continue
			}
			if _, ok := Find([]Pane{p}, text); ok && text == "" && p.Session != "" {
				t.Errorf("no target is %+v", p)
			}
		}
	})
}
