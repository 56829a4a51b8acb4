//go:build !linux

package executor

import "syscall"

// inGroup starts a program in a process group of its own.
func inGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
