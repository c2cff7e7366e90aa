package member

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/driver"
)

// shared are two processes of two roles each.
var shared = []job.Process{{loader, worker}, {server, trainer}}

func share(p *Plan) { p.Processes = shared }

// named is a ModelReader whose dense network and digests identify their role.
type named struct{ modelReader }

func (named) ReadDense(at msg.Address) (model.Values, error) {
	return model.Values{Params: []float32{float32(at.Role)}}, nil
}

func (named) RankSteps() int { return 0 }

func (named) CopyRank() (exec.RankState, error) { return exec.RankState{}, nil }

func (named) Digests() (driver.Digests, error) {
	d := driver.Digests{Roles: map[msg.Address]uint64{}}
	for _, p := range shared {
		for _, at := range p {
			d.Roles[at] = 10 + uint64(at.Role)
		}
	}
	return d, nil
}

// Messages, parameters and requests of the roles of one process are kept apart.
func TestRolesOfOneProcess(t *testing.T) {
	r := start(t, share)
	left := make(chan error, len(shared))
	for i, p := range shared {
		go func() { left <- r.playProcess(p, int64(i)) }()
	}
	select {
	case err := <-r.ended:
		if err != nil {
			t.Fatal(err)
		}
	case err := <-left:
		t.Fatal("a process has left before the end:", err)
	}
	reports := r.host.Reports()
	for i, p := range shared {
		if reports[i].Rows != i {
			t.Errorf("%v reports %+v", p, reports[i])
		}
	}
	var order []string
	for _, record := range r.records {
		order = append(order, fmt.Sprint(record.At, " ", record))
	}
	if diff := cmp.Diff([]string{
		"5ns embedding-worker 0: batch-read rank 0 step 0", "6ns nn-worker 0: batch-read rank 0 step 0",
		"7ns data-loader 0: batch-read rank 0 step 0", "8ns embedding-ps 0: batch-read rank 0 step 0",
	}, order); diff != "" {
		t.Error(diff)
	}
	dense, err := r.host.ReadDense(t.Context(), trainer)
	if err != nil || cmp.Diff(model.Values{Params: []float32{float32(trainer.Role)}}, dense) != "" {
		t.Error(dense, err)
	}
	digests, err := r.host.Digests(t.Context())
	want := map[msg.Address]uint64{server: 10 + uint64(server.Role), trainer: 10 + uint64(trainer.Role)}
	if err != nil || len(digests) != 1 || cmp.Diff(want, digests[0].Roles) != "" {
		t.Error(digests, err)
	}
	r.host.Close(nil)
	for range shared {
		if err := <-left; err != nil {
			t.Error(err)
		}
	}
}

// playProcess is a process that follows the protocol; number identifies it.
func (r *run) playProcess(p job.Process, number int64) (err error) {
	m, err := Join(r.t.Context(), r.address, Hello{Process: p, Address: ":1", Job: ours, Data: data},
		time.Second)
	if err != nil {
		return err
	}
	defer func() { err = m.Leave(err) }()
	if _, err := m.Welcome(); err != nil {
		return err
	}
	if _, _, err := m.Ready(named{}); err != nil {
		return err
	}
	if err := m.Finished(); err != nil {
		return err
	}
	// The second role's record comes before the first one's.
	if err := m.Records([]event.Record{
		{At: unit.Tick(5 + number), Role: p[1], Kind: event.BatchRead},
		{At: unit.Tick(7 + number), Role: p[0], Kind: event.BatchRead},
	}, 0); err != nil {
		return err
	}
	return m.Report(driver.Report{Rows: int(number)}, named{})
}

// A process with other roles than the placement has is refused; the reason says what to start instead.
func TestOtherPlacementsAreRefused(t *testing.T) {
	r := start(t, share)
	for want, p := range map[string]job.Process{
		"embedding-ps 0 is none of this job: its placement has the process of embedding-ps 0 and nn-worker " +
			"0; start that, with node process": {server},
		"the process of data-loader 0 and nn-worker 0 is none of this job: its placement has the process " +
			"of data-loader 0 and embedding-worker 0; start that, with node process": {loader, trainer},
		"a process has no role: start all roles from one build": {},
		"nn-worker 3 has no part in this job: see its section roles": {server,
			{Role: msg.NNWorker, Index: 3}},
	} {
		m, err := Join(t.Context(), r.address, Hello{Process: p, Address: ":1", Job: ours, Data: data},
			time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Welcome()
		if err = m.Leave(err); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
