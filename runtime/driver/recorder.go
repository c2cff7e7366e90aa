package driver

import (
	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// Recorder records the inputs and outputs of the roles of a run, so that the run can be replayed. Package
// record has the Recorder that writes files.
type Recorder interface {
	// Open is called once for every role of this process, before its first input. The incarnation is 0 unless
	// the process was restarted after its death.
	Open(at msg.Address, incarnation uint32, cfg *role.Config) (Log, error)
}

// Log records one role. One goroutine at a time calls its methods; an error ends the run. A Log must not
// retain its arguments.
type Log interface {
	// Step records one input with the payload of its message, or nil, and the role's outputs. The outputs
	// have not been performed yet.
	Step(now unit.Tick, in *role.Input, payload exec.Payload, out []role.Output) error
	// Finish ends the log of a successful run. The digest is that of the role's parameters: see
	// exec.RecordedDigest.
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

// endRecord ends the logs of a successful run.
func (r *run) endRecord() error {
	for _, n := range r.instances {
		if n.log == nil {
			continue
		}
		if err := n.log.Finish(exec.RecordedDigest(r.executor.Model(), n.address)); err != nil {
			return err
		}
	}
	return nil
}
