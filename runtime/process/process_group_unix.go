//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// setProcessGroup gives a process its own process group, so that an interrupt from the terminal does not
// reach it: the host stops it in an orderly way.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
