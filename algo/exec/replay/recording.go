package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// Recording has the streams of all roles of a run. It can be read once, by Replay or by Events.
type Recording struct {
	config  role.Config
	readers []*Reader // in address order
}

// New joins the streams of a run: of a role that came back, those of all its incarnations. The rule is the
// rule of the job's mode. New returns an error that names a stream that is missing, is given twice, belongs
// to another run, or is of a later incarnation of a role whose death cannot be replayed.
func New(rule pace.Rule, readers []*Reader) (*Recording, error) {
	if len(readers) == 0 {
		return nil, fmt.Errorf("%w: there is no stream", ErrFormat)
	}
	byRole := map[msg.Address]*Reader{}
	first := readers[0]
	for _, r := range slices.SortedStableFunc(slices.Values(readers), byIncarnation) {
		at, last := r.header.Role, byRole[r.header.Role].last()
		switch {
		case r.header.Incarnation > 0 && last == nil:
			return nil, fmt.Errorf("%s: %w: %v begins as incarnation %d; put the stream of the process that "+
				"was killed beside it", r.name, ErrCutShort, at, r.header.Incarnation)
		case r.header.Incarnation > 0 && !role.CanRestart(at.Role):
			return nil, fmt.Errorf("%s: %w: %v begins as incarnation %d, and only a data loader, embedding "+
				"worker or coordinator can be replayed whose process was killed", r.name, ErrCutShort, at,
				r.header.Incarnation)
		case last != nil && last.header.Incarnation == r.header.Incarnation:
			return nil, fmt.Errorf("%s and %s both are of %v: they are of two runs", last.name, r.name, at)
		case !bytes.Equal(r.header.Job, first.header.Job) ||
			!sameConfig(&r.header.Config, &first.header.Config):
			return nil, fmt.Errorf("%s and %s are of different jobs", first.name, r.name)
		case last != nil:
			last.later = r
			continue
		}
		byRole[at] = r
	}
	recording := &Recording{config: first.header.Config}
	recording.config.Rule = rule
	if err := recording.config.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", first.name, err)
	}
	if err := complete(&recording.config, byRole); err != nil {
		return nil, err
	}
	for _, state := range role.New(&recording.config) {
		r := byRole[state.Address()]
		if r == nil {
			return nil, errNoStream(state.Address())
		}
		recording.readers = append(recording.readers, r)
		delete(byRole, state.Address())
	}
	for _, r := range readers {
		if byRole[r.header.Role] != nil {
			return nil, fmt.Errorf("%s is of %v, which the job does not have", r.name, r.header.Role)
		}
	}
	return recording, nil
}

func byIncarnation(a, b *Reader) int { return cmp.Compare(a.header.Incarnation, b.header.Incarnation) }

// complete returns an error if a role of a configuration has no stream. A damaged configuration can name
// billions of roles, so it looks before role.New makes them. Cost: that of the streams.
func complete(cfg *role.Config, byRole map[msg.Address]*Reader) error {
	c := checker{cfg: cfg}
	for r := msg.DataLoader; r < msg.Coordinator; r++ {
		for i := range c.count(r) {
			if at := (msg.Address{Role: r, Index: int32(i)}); byRole[at] == nil {
				return errNoStream(at)
			}
		}
	}
	return nil
}

func errNoStream(at msg.Address) error {
	return fmt.Errorf("%v has no stream: put those of all processes of the run together", at)
}

// CheckJob returns an error if the recorded configuration differs from that of a job. The executor and the
// meters of a replay are made from the job, and the recorded roles index them.
func (r *Recording) CheckJob(t *job.Job) error {
	servers := 0
	if r.config.Rule.Dense().DensePSs {
		servers = t.Roles.DensePSs
	}
	for _, f := range []struct {
		key            string
		job, recording int
	}{
		{"roles.ranks", t.Roles.Ranks, int(r.config.Ranks)},
		{"roles.embedding-workers", t.Roles.EmbeddingWorkers, int(r.config.EmbeddingWorkers)},
		{"roles.embedding-ps", t.Roles.EmbeddingPSs, int(r.config.EmbeddingPSs)},
		{"roles.dense-ps", servers, len(r.config.DensePSs)},
	} {
		if f.job != f.recording {
			return fmt.Errorf("%w: its job has %s = %d, its roles were given %d", ErrDamaged, f.key, f.job,
				f.recording)
		}
	}
	return nil
}

func sameConfig(a, b *role.Config) bool {
	return compare("", reflect.ValueOf(*a), reflect.ValueOf(*b)) == nil
}

// Steps returns the number of global batches that the run trained.
func (r *Recording) Steps() int { return int(r.config.Steps) }

// Report counts what a replay has compared and found equal.
type Report struct {
	Roles  int
	Inputs uint64
	Steps  int       // global batches trained
	Span   unit.Tick // of the run, to its last input
}

// Replay runs the roles again, each on its recorded inputs, and executes their work with e, which must be a
// new executor of the run's job and data or, for a later part of a run, the one that has replayed the parts
// before (exec.Executor.SetHot, BeginAt). It checks that every input, with its payload, is one that the
// replay produces too; that outputs have the recorded bytes; and that every role ends with the recorded
// parameters. It returns the first difference as a *Difference. Other errors are those of reading the
// streams.
//
// Observers receive all records, in the order that Events describes. Cost: that of the training on one core.
func (r *Recording) Replay(e *exec.Executor, observers ...event.Observer) (Report, error) {
	return newPlayer(&r.config, r.readers, e, observers).play()
}

// Events runs the roles again without their work: it takes the results of work from the recorded inputs, has
// no payloads and compares no parameters. It compares outputs, and returns the errors of Replay. It needs
// neither the job's data nor memory for parameters, and a step costs microseconds.
//
// Observers receive every record of the run, for any number of processes and clocks, in an order that
//
//   - keeps each role's own order,
//   - respects causality: what a role records on receiving a message comes after
//     what the sender had recorded before it sent that message for the first time,
//     and what follows from a reduced bucket after what every rank had recorded
//     before it fed it,
//   - is the order of the recorded times, among records that causality leaves
//     free; records of one time come in address order.
//
// With one clock that is the order of the times. Clocks of several machines may disagree: then a record comes
// as early as its time allows, but never before its causes.
func (r *Recording) Events(observers ...event.Observer) (Report, error) {
	return newPlayer(&r.config, r.readers, nil, observers).play()
}
