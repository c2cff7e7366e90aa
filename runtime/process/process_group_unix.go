//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// apart keeps the terminal's interrupt from a process: the host tells it to stop.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
