package driver

import (
	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// Recorder keeps what happens to the roles of a run, so that it can be
// replayed.
type Recorder interface {
	// Open is called once for every role of this process, before its first input, which starts an
	// incarnation: 0 unless the role's process comes back after another that was killed.
	Open(at msg.Address, incarnation uint32, cfg *role.Config) (Log, error)
}

// Log keeps what happens to one role. Its methods are called by one goroutine
// at a time; an error ends the run. It holds on to nothing that it is shown.
type Log interface {
	// Step shows one input, with the payload of its message or nil, and what the
	// role made of it. The outputs have not been taken yet.
	Step(now unit.Tick, in *role.Input, payload exec.Payload, out []role.Output) error
	// Finish ends the log of a run that went well. The digest is that of the
	// parameters that the role holds: see exec.ModelState.Digest.
	Finish(digest uint64) error
}

// record opens the log of every role, unless recorder is nil.
func (r *run) record(recorder Recorder) error {
	if recorder == nil {
		return nil
	}
	for _, n := range r.instances {
		var err error
		if n.log, err = recorder.Open(n.address, r.options.Incarnation, r.cfg); err != nil {
			return err
		}
	}
	return nil
}

// endRecord ends the logs of a run that went well.
func (r *run) endRecord() error {
	for _, n := range r.instances {
		if n.log == nil {
			continue
		}
		if err := n.log.Finish(r.executor.Model().Digest(n.address)); err != nil {
			return err
		}
	}
	return nil
}
