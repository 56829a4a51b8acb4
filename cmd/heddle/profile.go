package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// profile begins the profiles that have a file; what it returns ends them.
func profile(cpu, mem string) (func() error, error) {
	stopCPU := func() error { return nil }
	if cpu != "" {
		f, err := os.Create(cpu)
		if err != nil {
			return nil, usageError("the CPU profile: %w", err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, errors.Join(fmt.Errorf("beginning the CPU profile: %w", err), f.Close())
		}
		stopCPU = func() error {
			pprof.StopCPUProfile()
			return f.Close()
		}
	}
	return func() error { return errors.Join(stopCPU(), writeHeap(mem)) }, nil
}

func writeHeap(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return usageError("the heap profile: %w", err)
	}
	runtime.GC()
	if err := pprof.WriteHeapProfile(f); err != nil {
		return errors.Join(fmt.Errorf("writing the heap profile: %w", err), f.Close())
	}
	return f.Close()
}
