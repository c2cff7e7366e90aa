package torch

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// makeLeader makes a process the leader of a group, which the processes that it starts join.
func makeLeader(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// awaitEnd waits until a process has ended, and leaves it for Wait: until then no other group has its number.
func awaitEnd(c *exec.Cmd) {
	for unix.Waitid(unix.P_PID, c.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		continue
	}
}

// killGroup ends a process and those that it has started.
func killGroup(c *exec.Cmd) { _ = unix.Kill(-c.Process.Pid, unix.SIGKILL) }
