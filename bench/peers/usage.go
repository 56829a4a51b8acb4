package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticks is Linux's USER_HZ: /proc counts CPU time in hundredths of a second.
const ticks = 100

// usage is what the server, this process and the machine have used up to a moment.
// CPU times are in seconds.
type usage struct {
	at      time.Time
	steps   int64 // executed
	server  processUsage
	client  float64 // CPU of this process: worker and load generator
	busy    float64 // CPU of the whole machine
	steal   float64 // CPU that the hypervisor gave to others
	written int64   // bytes ever written to the block device of the run's directory
}

// readUsage reads the counters of /proc.
func readUsage(pids []int, dir string) (usage, error) {
	u := usage{at: time.Now(), steps: stepsExecuted.Load(), server: usageOfTrees(pids)}
	var err error
	if u.client, err = ownCPU(); err != nil {
		return u, err
	}
	if u.busy, u.steal, err = machineCPU(); err != nil {
		return u, err
	}
	u.written, err = writtenToDevice(dir)
	return u, err
}

// processUsage is what processes have used, with their descendants.
type processUsage struct {
	cpu  float64 // seconds, user and system, those of reaped children too
	rss  int64   // bytes; the proportional set size, so that shared memory counts once
	peak int64   // bytes; the sum of VmHWM, which counts shared memory for each process
}

// usageOfTrees adds up the processes below the roots. One that ends meanwhile has no
// files in /proc any more and counts as zero; its parent has its CPU time.
func usageOfTrees(roots []int) processUsage {
	var u processUsage
	for _, pid := range descendants(roots) {
		fields := statFields(pid)
		if len(fields) < 15 {
			continue
		}
		for _, time := range fields[11:15] { // utime, stime, cutime, cstime
			u.cpu += number(time) / ticks
		}
		u.rss += kilobytes(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
		u.peak += kilobytes(fmt.Sprintf("/proc/%d/status", pid), "VmHWM:")
	}
	return u
}

// descendants returns the roots and all processes below them.
func descendants(roots []int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	children := map[int][]int{}
	for _, path := range stats {
		pid := int(number(filepath.Base(filepath.Dir(path))))
		if fields := statFields(pid); len(fields) > 1 {
			parent := int(number(fields[1]))
			children[parent] = append(children[parent], pid)
		}
	}
	all := append([]int{}, roots...)
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// statFields returns the fields of /proc/PID/stat after the command's name, none if
// the process has ended.
func statFields(pid int) []string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// kilobytes returns a field that /proc gives in kB, as bytes; 0 if the process has ended.
func kilobytes(file, key string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, key); ok {
			return int64(number(strings.TrimSuffix(strings.TrimSpace(value), " kB"))) * 1024
		}
	}
	return 0
}

// number parses what the kernel has printed. A field that it does not know counts as 0.
func number(s string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0
	}
	return n
}

// machineCPU returns the machine's busy and stolen seconds.
func machineCPU() (busy, steal float64, err error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	first, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(first) // cpu user nice system idle iowait irq softirq steal ...
	if len(fields) < 9 {
		return 0, 0, fmt.Errorf("/proc/stat begins with %q", first)
	}
	for _, i := range []int{1, 2, 3, 6, 7} {
		busy += number(fields[i]) / ticks
	}
	return busy, number(fields[8]) / ticks, nil
}

func ownCPU() (float64, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, err
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds(), nil
}
