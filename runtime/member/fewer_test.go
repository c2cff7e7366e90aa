package member

import (
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
)

// A part of a run whose processes do not all come in time ends, and says which are missing.
func TestMissingProcessesEndThePart(t *testing.T) {
	r := start(t, func(p *Plan) { p.Later, p.GatherLimit = true, 300*time.Millisecond })
	lost := new(driver.LostError)
	if err := <-r.ended; !errors.As(err, &lost) || !lost.Absent {
		t.Fatal(err)
	}
	got := r.host.Absent()
	if len(got) != 3 || !got[2].Has(trainer) || len(r.host.Waiting()) > 0 {
		t.Errorf("absent: %v", got)
	}
}

// A process that ends before it joins is started again in a later part of a run, up to a number of times. In
// the first part it is missing at once.
func TestProcessThatEndsBeforeItJoins(t *testing.T) {
	for _, later := range []bool{false, true} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		all := []job.Process{{loader}, {server}, {trainer}}
		host, err := NewHost(listener, Plan{Job: ours, Processes: all, Ranks: 1, Schema: schema, Steps: 7,
			Later: later, DeathsMax: 2})
		if err != nil {
			t.Fatal(err)
		}
		started := 0
		go host.Ended(job.Process{server}, 0, "killed")
		err = host.Train(t.Context(), Callbacks{
			Gathering: func([]job.Process) {},
			Restart: func(p job.Process, incarnation uint32) error {
				started++
				go host.Ended(p, incarnation, "killed again")
				return nil
			},
		})
		host.Close(err)
		if want := map[bool]int{true: 2}[later]; started != want || !errors.As(err, new(*driver.LostError)) {
			t.Errorf("later part: %t: started %d times, want %d; error %v", later, started, want, err)
		}
		if got := host.Absent(); len(got) != 1 || !got[0].Has(server) {
			t.Errorf("later part: %t: absent: %v", later, got)
		}
	}
}

// A process plays the roles of its welcome, also if it was started with others, and is known by those with
// which it was started. One that has no role waits for the end, and may die without harm.
func TestSeatsAndSpares(t *testing.T) {
	second, third := msg.Address{Role: msg.NNWorker, Index: 1}, msg.Address{Role: msg.NNWorker, Index: 2}
	r := start(t, func(p *Plan) {
		p.Seats = []job.Process{{loader}, {server}, {second}}
		p.Spare = []job.Process{{trainer}, {third}}
	})
	spare, dying := r.join(trainer), r.join(third)
	for known := make(chan int, 1); ; time.Sleep(time.Millisecond) { // the host may hear of them late
		r.host.post(func() error {
			known <- len(r.host.Waiting())
			return nil
		})
		if <-known == 2 {
			break
		}
	}
	if err := spare.Saved("of a part in which it had a role", nil); err != nil {
		t.Error(err)
	}
	members := map[msg.Address]*Member{loader: r.join(loader), server: r.join(server),
		trainer: r.join(second)}
	for at, m := range members {
		w, err := m.Welcome()
		if err != nil || !slices.Equal(w.Roles, job.Process{at}) || len(w.Peers) != 3 {
			t.Fatalf("%v: %+v, error %v", at, w, err)
		}
	}
	if err := dying.Leave(errors.New("it fails")); err == nil {
		t.Error("a spare process has not left")
	}
	for _, m := range members {
		go func() { _, _, _ = m.Ready(nil) }()
	}
	for what := range r.watched {
		if what == "started" {
			break
		}
	}
	failed := errors.New("the end")
	members[trainer].Fail(failed)
	_ = members[trainer].Leave(failed) // the host ends the run with this reason
	if err := <-r.ended; err == nil || err.Error() != failed.Error() {
		t.Errorf("the run has ended with %v", err)
	}
	if got := r.host.Waiting(); len(got) == 0 || got[0][0] != trainer {
		t.Errorf("waiting: %v", got)
	}
	if _, err := spare.Welcome(); err == nil {
		t.Error("a spare process has a welcome")
	}
}
