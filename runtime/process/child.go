package process

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"tandem/algo/job"
)

// process is one incarnation of a process of the run.
type process struct {
	roles       job.Process
	incarnation uint32
	cmd         *exec.Cmd
	words       words
	ended       chan struct{} // closed when it has ended; then:
	why         string        // in one line
	ending      chan struct{} // closed when it may end
	mayEnd      func()        // closes ending
}

// reader is what a process reports to.
type reader struct {
	refused  func(p *process, line string)  // it has refused something
	panicked func(p *process, stack string) // it has ended so
	// ended is called if it ends, after its last words have had time to reach the host,
	// unless it may end by then.
	ended func(*process)
}

// startProcess starts a process with some roles.
func startProcess(roles job.Process, incarnation uint32, command, environment []string, to reader) (*process, error) {
	p := &process{
		roles: roles, incarnation: incarnation, cmd: exec.Command(command[0], command[1:]...),
		ended: make(chan struct{}), ending: make(chan struct{}),
	}
	p.words.refused = func(line string) { to.refused(p, line) }
	p.mayEnd = sync.OnceFunc(func() { close(p.ending) })
	p.cmd.Env = append(os.Environ(), environment...)
	p.cmd.Stderr = &p.words
	apart(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.wait(to.panicked)
		select {
		case <-p.ending:
		case <-time.After(reportTimeout):
			to.ended(p)
		}
	}()
	return p, nil
}

// reportTimeout is how long the host may take to receive from a process why it left, after
// its process has ended, and how long it may take to learn that the process has.
const reportTimeout = 500 * time.Millisecond

// wait waits for the end of the process.
func (p *process) wait(panicked func(p *process, stack string)) {
	err := p.cmd.Wait()
	var stack string
	p.why, stack = p.words.end()
	switch {
	case p.why != "":
	case err != nil:
		p.why = err.Error()
	default:
		p.why = "it has left before the end"
	}
	if stack != "" {
		panicked(p, stack)
	}
	close(p.ended)
}

// reason returns why the process has ended, "" if it does not end soon.
func (p *process) reason() string {
	select {
	case <-p.ended:
		return p.why
	case <-time.After(reportTimeout):
		return ""
	}
}

// leaveMax is how long a process may take to leave when the host is closed.
const leaveMax = 3 * time.Second

// end waits for the process to leave by itself, and kills it if it does not.
func (p *process) end() {
	p.mayEnd()
	select {
	case <-p.ended:
	case <-time.After(leaveMax):
		p.kill()
	}
}

// kill ends the process at once.
func (p *process) kill() {
	p.mayEnd()
	_ = p.cmd.Process.Kill() // an error says that it has ended by itself
	<-p.ended
}

// String names the process in lines for people.
func (p *process) String() string {
	if p.incarnation == 0 {
		return p.roles.String()
	}
	return fmt.Sprintf("%v, incarnation %d", p.roles, p.incarnation)
}
