package torch_test

import (
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"syscall"
	"testing"
)

// The kernel ends a Python whose parent has died, also in C code that holds the lock of the interpreter.
func TestPythonEndsWithItsParent(t *testing.T) {
	python, err := osexec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	const endless = "import re, sys; sys.path.insert(0, 'python'); from tandem_worker import main; " +
		"main.end_with_parent(3); print('ready', flush=True); re.match('(a+)+$', 'a' * 60 + 'b')"
	child := osexec.Command(python, "-B", "-c", endless)
	child.Stderr = os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	there, here, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	child.ExtraFiles = []*os.File{there}
	printed, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() })
	if _, err := io.ReadFull(printed, make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(there.Close(), here.Close()); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Error(err)
	}
}
