package main

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/bench"
)

func TestTheVerdictFollowsFromTheRatiosOfTheTurns(t *testing.T) {
	even := []float64{100, 100, 100, 100, 100}
	for _, test := range []struct {
		name string
		tree []float64
		want string
	}{
		{"all turns slower", []float64{95, 94, 96, 90, 99}, "slower by 5.0%"},
		{"all turns faster", []float64{105, 110, 101, 103, 120}, "faster by 5.0%"},
		{"on both sides, and close", []float64{99, 101, 100, 102, 98}, "the same"},
		{"on both sides, and far apart", []float64{90, 110, 100, 105, 95}, "too wide to tell"},
		{"few turns", []float64{50, 50, 50, 50}, "too few turns to tell"},
		{"one turn far off", []float64{95, 94, 96, 97, 130}, "too wide to tell"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if is := compare(even[:len(test.tree)], test.tree).verdict(); is != test.want {
				t.Errorf("the verdict is %q, want %q", is, test.want)
			}
		})
	}
}

// A machine that is half as fast in one turn is that for both builds.
func TestTurnsAreComparedOneByOne(t *testing.T) {
	c := compare([]float64{100, 50, 100, 50, 80}, []float64{110, 55, 110, 55, 88})
	if is := c.verdict(); is != "faster by 10.0%" {
		t.Errorf("the verdict is %q, want faster by 10.0%%", is)
	}
}

func TestSevenTurnsMayHaveOneOutlier(t *testing.T) {
	c := compare([]float64{100, 100, 100, 100, 100, 100, 100}, []float64{95, 94, 96, 97, 93, 130, 95})
	if is := c.verdict(); is != "slower by 5.0%" {
		t.Errorf("the verdict is %q, want slower by 5.0%%", is)
	}
}

func TestTheTableHasALineForEachSetting(t *testing.T) {
	chain, single := setting{"default", "chain10", 128}, setting{"none", "single", 512}
	r := newResults([]setting{chain, single})
	for range 5 {
		r.add(chain, false, measurement{Figure: bench.Figure{StepsPS: 1000, P50: 10, CPUPerStep: 100, BytesPerStep: 500}})
		r.add(chain, true, measurement{Figure: bench.Figure{StepsPS: 1200, P50: 9, CPUPerStep: 80, BytesPerStep: 500}})
		r.add(single, false, measurement{Figure: bench.Figure{StepsPS: 300, P50: 1}})
		r.add(single, true, measurement{Figure: bench.Figure{StepsPS: 300, P50: 1}})
	}
	var out strings.Builder
	if err := r.print(&out, "abc123", false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{
		"WORKLOAD CLIENTS ARCHIVE STEPS/S: ABC123 TREE RATIO TURNS P50 CPU/STEP BYTES/STEP VERDICT",
		"chain10 128 default 1000 ±0% 1200 ±0% 1.200 1.20–1.20 0.90 0.80 1.00 faster by 20.0%",
		"single 512 none 300 ±0% 300 ±0% 1.000 1.00–1.00 1.00 – – the same",
	} {
		if is := strings.Join(strings.Fields(lines[i]), " "); is != want {
			t.Errorf("line %d is %q, want %q", i+1, is, want)
		}
	}
}

func TestOverKafkaTheSharesOfTheFloorAreCompared(t *testing.T) {
	s := setting{"none", "chain10", 1}
	r := newResults([]setting{s})
	r.add(s, false, measurement{bench.Figure{StepsPS: 100}, &bench.Figure{StepsPS: 200}})
	r.add(s, true, measurement{bench.Figure{StepsPS: 150}, &bench.Figure{StepsPS: 400}})
	var out strings.Builder
	if err := r.print(&out, "abc123", true); err != nil {
		t.Fatal(err)
	}
	line := strings.Join(strings.Fields(strings.Split(out.String(), "\n")[1]), " ")
	if want := "chain10 1 none 0.500 ±0% 0.375 ±0% 0.750 0.75–0.75 – – – too few turns to tell"; line != want {
		t.Errorf("the line is %q, want %q", line, want)
	}
}

func TestSettingsNameWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"chain10":   `--workload: want a name and a number of clients, as chain10:128, got "chain10"`,
		"chain10:0": `--workload: want a name and a number of clients, as chain10:128, got "chain10:0"`,
		"chain11:1": "chain11",
	} {
		o := options{Turns: 1, Archive: []string{"none"}, Workload: []string{text}}
		if _, err := o.settings(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--workload %s gives the error %v, want %s", text, err, want)
		}
	}
}
