package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/heddle-run/heddle/internal/bench"
)

// measurement is one run, over Kafka with the floor that was measured before it.
type measurement struct {
	bench.Figure
	floor *bench.Figure
}

// results has the measurements of both builds by setting, in the order of the turns.
type results struct {
	settings   []setting
	base, tree map[setting][]measurement
}

func newResults(settings []setting) *results {
	return &results{settings: settings, base: map[setting][]measurement{}, tree: map[setting][]measurement{}}
}

func (r *results) add(s setting, tree bool, m measurement) {
	if tree {
		r.tree[s] = append(r.tree[s], m)
	} else {
		r.base[s] = append(r.base[s], m)
	}
}

// print writes the table: one line for each setting.
func (r *results) print(out io.Writer, base string, floor bool) error {
	rate := "STEPS/S"
	if floor {
		rate = "OF FLOOR"
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "WORKLOAD\tCLIENTS\tARCHIVE\t%s: %s\tTREE\tRATIO\tTURNS\tP50\tCPU/STEP\tBYTES/STEP\tVERDICT\n", rate, strings.ToUpper(base))
	for _, s := range r.settings {
		b, w := r.base[s], r.tree[s]
		value := stepsPerSecond
		if floor {
			value = shareOfFloor
		}
		c := compare(values(b, value), values(w, value))
		fmt.Fprintf(t, "%s\t%d\t%s\t%s ±%.0f%%\t%s ±%.0f%%\t%.3f\t%.2f–%.2f\t%s\t%s\t%s\t%s\n", s.workload, s.clients, s.archive,
			figure(c.base), 100*c.baseSpread, figure(c.tree), 100*c.treeSpread, c.ratio, c.low, c.high,
			ratioOf(b, w, p50), ratioOf(b, w, cpuPerStep), ratioOf(b, w, bytesPerStep), c.verdict())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	turns := len(r.tree[r.settings[0]])
	fmt.Fprintf(out, "\nMedians of %d turns. ± is the largest distance from a median. RATIO is the median of the turns' ratios, tree over %s, and TURNS\n"+
		"the lowest and the highest of them%s. P50, CPU/STEP and BYTES/STEP are ratios, too: there less is better.\n", turns, base, leaving(turns))
	return nil
}

func stepsPerSecond(m measurement) float64 { return m.StepsPS }
func shareOfFloor(m measurement) float64   { return m.StepsPS / m.floor.StepsPS }
func p50(m measurement) float64            { return m.P50 }
func cpuPerStep(m measurement) float64     { return m.CPUPerStep }
func bytesPerStep(m measurement) float64   { return m.BytesPerStep }

func values(all []measurement, value func(measurement) float64) []float64 {
	var v []float64
	for _, m := range all {
		v = append(v, value(m))
	}
	return v
}

// ratioOf is the ratio of a figure that not every run has.
func ratioOf(base, tree []measurement, value func(measurement) float64) string {
	b, t := median(values(base, value)), median(values(tree, value))
	if b == 0 || t == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", t/b)
}

// comparison is what the turns of one setting say.
type comparison struct {
	base, tree             float64 // medians
	baseSpread, treeSpread float64 // largest distance from the median, as its part
	ratio                  float64 // median of the turns' ratios, tree over base
	low, high              float64 // lowest and highest of these, without outliers
	turns                  int
}

// compare compares two series whose values with the same index were measured one after the
// other.
func compare(base, tree []float64) comparison {
	var ratios []float64
	for i := range base {
		ratios = append(ratios, tree[i]/base[i])
	}
	slices.Sort(ratios)
	out := outliers(len(ratios))
	return comparison{
		base: median(base), tree: median(tree), baseSpread: spread(base), treeSpread: spread(tree),
		ratio: median(ratios), low: ratios[out], high: ratios[len(ratios)-1-out], turns: len(ratios),
	}
}

// outliers is how many of the turns' ratios are left out at either end. A true tie puts
// all of five ratios, or all but the outlier of seven, on one side with a chance of 6 and
// 13 % (two-sided).
func outliers(turns int) int { return turns / 7 }

func leaving(turns int) string {
	if n := outliers(turns); n > 0 {
		return fmt.Sprintf(" without %d at either end", n)
	}
	return ""
}

// enough is how many turns say something: see outliers.
const enough = 5

// tooWide is the distance of the lowest from the highest ratio from which on turns that lie
// on both sides of 1 say nothing.
const tooWide = 0.08

func (c comparison) verdict() string {
	switch {
	case c.turns < enough:
		return "too few turns to tell"
	case c.high < 1:
		return fmt.Sprintf("slower by %.1f%%", 100*(1-c.ratio))
	case c.low > 1:
		return fmt.Sprintf("faster by %.1f%%", 100*(c.ratio-1))
	case c.high-c.low > tooWide:
		return "too wide to tell"
	default:
		return "the same"
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[n/2]
}

// spread is the largest distance from the median, as its part.
func spread(v []float64) float64 {
	m := median(v)
	return max(slices.Max(v)-m, m-slices.Min(v)) / m
}

// figure prints shares with three digits, and rates without a fraction.
func figure(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.3f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
