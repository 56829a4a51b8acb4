package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// reportCommand prints tables, in Markdown, of the runs in files.
func reportCommand(args []string) error {
	f := flag.NewFlagSet("report", flag.ExitOnError)
	most := f.Int("reps", 3, "use at most this many runs of each combination, the quietest first")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return errors.New("report reads files that -out of run or matrix wrote: name one")
	}
	var all []Result
	for _, file := range f.Args() {
		results, err := readResults(file)
		if err != nil {
			return err
		}
		all = append(all, results...)
	}
	_, err := os.Stdout.WriteString(tables(combine(all, *most)))
	return err
}

// combination is what repetitions have in common.
type combination struct {
	driver      string
	durability  Durability
	workload    string
	concurrency int
}

// row is a combination with the runs that stand for it.
type row struct {
	combination
	runs   []Result
	failed []string
}

// combine groups runs. Of each combination it takes the quietest, up to most.
func combine(all []Result, most int) []row {
	rows := map[combination]*row{}
	for _, r := range all {
		c := combination{r.Driver, r.Engine.Durability, r.Workload, r.Concurrency}
		if rows[c] == nil {
			rows[c] = &row{combination: c}
		}
		if r.Failed != "" {
			rows[c].failed = append(rows[c].failed, r.Failed)
		} else {
			rows[c].runs = append(rows[c].runs, r)
		}
	}
	var sorted []row
	for _, r := range rows {
		slices.SortStableFunc(r.runs, func(a, b Result) int { return cmp.Compare(a.OtherCores, b.OtherCores) })
		r.runs = r.runs[:min(most, len(r.runs))]
		sorted = append(sorted, *r)
	}
	slices.SortFunc(sorted, func(a, b row) int {
		return cmp.Or(
			cmp.Compare(workloadIndex(a.workload), workloadIndex(b.workload)),
			cmp.Compare(a.concurrency, b.concurrency),
			cmp.Compare(a.driver, b.driver),
			cmp.Compare(a.durability, b.durability),
		)
	})
	return sorted
}

// column is one figure of the table.
type column struct {
	title  string
	value  func(Result) float64
	print  func(float64) string
	spread bool // with the least and the greatest value
}

var columns = []column{
	{"workflows/s", func(r Result) float64 { return r.WorkflowsPerSecond }, number3, true},
	{"steps/s", func(r Result) float64 { return r.StepsPerSecond }, number3, false},
	{"p50 ms", func(r Result) float64 { return r.Latency.P50 }, number3, true},
	{"p99 ms", func(r Result) float64 { return r.Latency.P99 }, number3, true},
	{"server CPU ms/step", func(r Result) float64 { return r.ServerCPUPerStep }, number3, false},
	{"client CPU ms/step", func(r Result) float64 { return r.ClientCPUPerStep }, number3, false},
	{"server RSS", func(r Result) float64 { return float64(r.ServerRSS) }, bytesText, false},
	{"stored/wf", func(r Result) float64 { return float64(r.StoredPerWorkflow) }, bytesText, false},
	{"WAL/wf", func(r Result) float64 { return float64(r.WALPerWorkflow) }, bytesText, false},
	{"device/wf", func(r Result) float64 { return float64(r.WrittenPerWorkflow) }, bytesText, false},
}

// tables returns one table for each workload.
func tables(rows []row) string {
	var b strings.Builder
	for len(rows) > 0 {
		name := rows[0].workload
		n := 1
		for n < len(rows) && rows[n].workload == name {
			n++
		}
		note := ""
		if w, err := workload(name); err == nil {
			note = ": " + w.Note
		}
		fmt.Fprintf(&b, "\n### %s%s\n\n", name, note)
		writeTable(&b, rows[:n])
		rows = rows[n:]
	}
	return b.String()
}

// writeTable pads cells, so that the table can be read in a terminal, too.
func writeTable(b *strings.Builder, rows []row) {
	head := []string{"clients", "engine", "survives"}
	for _, c := range columns {
		head = append(head, c.title)
	}
	lines := [][]string{append(head, "runs")}
	for _, r := range rows {
		lines = append(lines, r.cells())
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, line := range lines {
		for j, cell := range line {
			fmt.Fprintf(b, "| %s%s ", cell, strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)))
		}
		b.WriteString("|\n")
		if i == 0 {
			for _, w := range widths {
				b.WriteString("| " + strings.Repeat("-", max(3, w)) + " ")
			}
			b.WriteString("|\n")
		}
	}
	for _, r := range rows {
		for _, f := range r.failed {
			fmt.Fprintf(b, "\n%s with %d clients failed: %s\n", r.driver, r.concurrency, f)
		}
	}
}

func (r row) cells() []string {
	cells := []string{fmt.Sprint(r.concurrency), r.driver, cmp.Or(string(r.durability), "–")}
	noisy := 0
	for _, run := range r.runs {
		if run.Noisy {
			noisy++
		}
	}
	for _, c := range columns {
		cells = append(cells, c.cell(r.runs))
	}
	runs := fmt.Sprint(len(r.runs))
	if noisy > 0 {
		runs += fmt.Sprintf(" (%d noisy)", noisy)
	}
	if len(r.failed) > 0 {
		runs += fmt.Sprintf(", %d failed", len(r.failed))
	}
	return append(cells, runs)
}

// cell is the median of the runs, with their range where the column has one.
func (c column) cell(runs []Result) string {
	if len(runs) == 0 {
		return "–"
	}
	var values []float64
	for _, r := range runs {
		values = append(values, c.value(r))
	}
	slices.Sort(values)
	n := len(values)
	text := c.print((values[(n-1)/2] + values[n/2]) / 2)
	if c.spread && n > 1 {
		text += fmt.Sprintf(" (%s–%s)", c.print(values[0]), c.print(values[n-1]))
	}
	return text
}

// number3 prints about three digits; an engine in this process has no server whose use is above 0.
func number3(x float64) string {
	switch {
	case x <= 0:
		return "–"
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 1:
		return fmt.Sprintf("%.2f", x)
	default:
		return fmt.Sprintf("%.3f", x)
	}
}

func bytesText(x float64) string {
	switch {
	case x <= 0:
		return "–"
	case x >= 1<<20:
		return fmt.Sprintf("%.0f MiB", x/(1<<20))
	default:
		return fmt.Sprintf("%.1f KiB", x/1024)
	}
}
