package executor

import "syscall"

// inGroup starts a program in a process group of its own, and lets it end with this process.
func inGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
