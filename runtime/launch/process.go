package launch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"tandem/algo/msg"
)

// process is the process of one role.
type process struct {
	at     msg.Address
	cmd    *exec.Cmd
	stderr tail
	ended  chan struct{}
	ending chan struct{} // closed when it may end
}

// startProcess starts the process of a role. If it ends before end is called,
// the run fails, with its last words.
func startProcess(at msg.Address, command, environment []string, fail context.CancelCauseFunc) (*process, error) {
	p := &process{at: at, cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{}), ending: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), environment...)
	p.cmd.Stderr = &p.stderr
	apart(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.watch(fail)
	return p, nil
}

// hearing is how long the host may take to hear from a role why it left, after
// its process has ended.
const hearing = 500 * time.Millisecond

// watch waits for the end of the process.
func (p *process) watch(fail context.CancelCauseFunc) {
	err := p.cmd.Wait()
	close(p.ended)
	select {
	case <-p.ending:
	case <-time.After(hearing):
		fail(p.death(err))
	}
}

// death describes an end that nobody asked for.
func (p *process) death(err error) error {
	words := p.stderr.last()
	switch {
	case words != "":
		return fmt.Errorf("%s", strings.TrimPrefix(words, "node: error: "))
	case err != nil:
		return fmt.Errorf("%v has died: %w", p.at, err)
	}
	return fmt.Errorf("%v has left before the end", p.at)
}

// leaveMax is how long a process may take to leave when the host is closed.
const leaveMax = 3 * time.Second

// end waits for the process to leave by itself, and kills it if it does not.
func (p *process) end() {
	close(p.ending)
	select {
	case <-p.ended:
	case <-time.After(leaveMax):
		// An error says that it has left at last.
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailMax = 1 << 14

// Write implements io.Writer.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-tailMax):]
	return len(text), nil
}

// last returns the line that says best why a process has ended: the one with its
// error, else the first of a panic, else the last.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(string(bytes.TrimSpace(t.text)), "\n")
	for _, prefix := range []string{"node: error: ", "panic: ", "fatal error: "} {
		for _, line := range lines {
			if strings.HasPrefix(line, prefix) {
				return line
			}
		}
	}
	return lines[len(lines)-1]
}
