//go:build !unix

package process

import "os/exec"

// setProcessGroup does nothing on systems without process groups.
func setProcessGroup(*exec.Cmd) {}
