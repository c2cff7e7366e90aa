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
type child struct {
	roles       job.Process
	incarnation uint32
	cmd         *exec.Cmd
	stderr      stderrParser
	ended       chan struct{} // closed when it has ended; then:
	why         string        // in one line
	endAllowed  chan struct{} // closed when it may end
	allowEnd    func()        // closes ending
}

// reader is what a process reports to.
type childEvents struct {
	refused  func(p *child, line string)  // it has refused something
	panicked func(p *child, stack string) // it has ended so
	// ended is called if it ends, after its last words have had time to reach the host,
	// unless it may end by then.
	ended func(*child)
}

// startChild starts a process with some roles.
func startChild(roles job.Process, incarnation uint32, command, environment []string, to childEvents) (*child, error) {
	p := &child{
		roles: roles, incarnation: incarnation, cmd: exec.Command(command[0], command[1:]...),
		ended: make(chan struct{}), endAllowed: make(chan struct{}),
	}
	p.stderr.refused = func(line string) { to.refused(p, line) }
	p.allowEnd = sync.OnceFunc(func() { close(p.endAllowed) })
	p.cmd.Env = append(os.Environ(), environment...)
	p.cmd.Stderr = &p.stderr
	setProcessGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.wait(to.panicked)
		select {
		case <-p.endAllowed:
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
func (p *child) wait(panicked func(p *child, stack string)) {
	err := p.cmd.Wait()
	var stack string
	p.why, stack = p.stderr.summary()
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
func (p *child) reason() string {
	select {
	case <-p.ended:
		return p.why
	case <-time.After(reportTimeout):
		return ""
	}
}

// leaveTimeout is how long a process may take to leave when the host is closed.
const leaveTimeout = 3 * time.Second

// waitOrKill waits for the process to leave by itself, and kills it if it does not.
func (p *child) waitOrKill() {
	p.allowEnd()
	select {
	case <-p.ended:
	case <-time.After(leaveTimeout):
		p.kill()
	}
}

// kill ends the process at once.
func (p *child) kill() {
	p.allowEnd()
	_ = p.cmd.Process.Kill() // an error says that it has ended by itself
	<-p.ended
}

// String names the process in lines for people.
func (p *child) String() string {
	if p.incarnation == 0 {
		return p.roles.String()
	}
	return fmt.Sprintf("%v, incarnation %d", p.roles, p.incarnation)
}
