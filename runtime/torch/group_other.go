//go:build !linux

package torch

import "os/exec"

// Outside of Linux no process is started: see memory_other.go.

func makeLeader(*exec.Cmd) {}
func awaitEnd(*exec.Cmd)   {}
func killGroup(*exec.Cmd)  {}
