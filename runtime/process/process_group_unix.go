//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// setProcessGroup keeps the terminal's interrupt from a process: the host tells it to stop.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
