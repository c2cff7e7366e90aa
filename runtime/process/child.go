package process

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"tandem/algo/job"
)

// child is a process that this one has started: one incarnation in a part of the run, and the first one in
// each of the parts that follow.
type child struct {
	roles       job.Process
	incarnation atomic.Uint32 // in the part of the run
	cmd         *exec.Cmd
	stderr      stderrParser
	ended       chan struct{} // closed when the process has ended
	why         string        // why it has ended, in one line; set before ended is closed
	endAllowed  chan struct{} // closed when the process may end without a report
	allowEnd    func()        // closes endAllowed
}

// childEvents are the functions that a child's goroutine calls.
type childEvents struct {
	// said is called with a line of the process about a refusal, or of its module.
	said     func(p *child, line string)
	panicked func(p *child, stack string) // the process has ended with a panic
	// ended is called when the process ends without permission, after a time in which the host may receive
	// its own report.
	ended func(*child)
}

// startChild starts a process.
func startChild(roles job.Process, incarnation uint32, command, environment []string,
	to childEvents) (*child, error) {
	p := &child{
		roles: roles, cmd: exec.Command(command[0], command[1:]...),
		ended: make(chan struct{}), endAllowed: make(chan struct{}),
	}
	p.incarnation.Store(incarnation)
	p.stderr.passOn = func(line string) { to.said(p, line) }
	p.allowEnd = sync.OnceFunc(func() { close(p.endAllowed) })
	p.cmd.Env = append(os.Environ(), environment...)
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = leaveTimeout // a program that the process has started may have its standard error
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

// reportTimeout is how long the host may take, after a process has ended, to receive the process's own
// reason, and to learn that the process has ended.
const reportTimeout = 500 * time.Millisecond

// wait waits until the process ends.
func (p *child) wait(panicked func(p *child, stack string)) {
	err := p.cmd.Wait()
	var stack string
	p.why, stack = p.stderr.summary()
	killed := err != nil && err.Error() == "signal: killed"
	switch {
	case p.why != "" && !(killed && !p.stderr.explains()): // a killed process has no last words
	case err != nil:
		p.why = err.Error()
	default:
		p.why = "it left before the end of the run"
	}
	if stack != "" {
		panicked(p, stack)
	}
	close(p.ended)
}

// hasEnded reports whether the process has ended.
func (p *child) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// reason returns why the process has ended, or "" if it does not end soon.
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

// waitOrKill waits until the process leaves, and kills it after leaveTimeout.
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
	_ = p.cmd.Process.Kill() // an error means that it has ended by itself
	<-p.ended
}

// String returns the name of the process for messages.
func (p *child) String() string {
	if n := p.incarnation.Load(); n > 0 {
		return fmt.Sprintf("%v, incarnation %d", p.roles, n)
	}
	return p.roles.String()
}
