package member

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/runtime/member/control"
)

// rankReader is a ModelReader of one rank.
type rankReader struct {
	modelReader
	state exec.RankState
	err   error
}

func (r rankReader) RankSteps() int { return 9 }

func (r rankReader) CopyRank() (exec.RankState, error) { return r.state, r.err }

// What one rank sends of its state is what another begins with: all of it, with hot rows or without, or the
// number of its steps alone.
func TestRankStatesArriveWhole(t *testing.T) {
	network := dense.Part{PerStep: 3, State: model.State{Steps: 4, Optimizer: []float32{5, 6},
		Values: model.Values{Params: []float32{1, 2}, Running: []float32{7}}}}
	for _, hot := range []*table.Columns{nil, {Signs: []uint64{8, 9}, Updates: []uint32{1, 2},
		Read: []uint8{0, 1}, Embeddings: []byte{1, 2, 3, 4}, States: []byte{5, 6}}} {
		want := exec.RankState{Steps: 11, Dense: network, Hot: hot}
		message, err := readRank(rankReader{state: want}, true)
		if err != nil {
			t.Fatal(err)
		}
		sent := message.What.(*control.FromMember_Rank).Rank
		if got := fromRank(sent); !reflect.DeepEqual(*got, want) || !sent.All {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	message, err := readRank(rankReader{err: errors.New("not needed")}, false)
	if err != nil {
		t.Fatal(err)
	}
	if sent := message.What.(*control.FromMember_Rank).Rank; sent.Steps != 9 || sent.All ||
		sent.Params != nil {
		t.Errorf("%+v, want 9 steps alone", sent)
	}
	if _, err := readRank(rankReader{err: errors.New("no state")}, true); err == nil {
		t.Error("a state that cannot be copied is sent")
	}
}

// A time that another process sends is the same moment here, to the microsecond or so that a call takes.
func TestTimesOfOtherProcesses(t *testing.T) {
	for _, ago := range []time.Duration{-time.Hour, 0, time.Second, 48 * time.Hour} {
		at := time.Now().Add(-ago)
		if d := toMonotonic(at.UnixNano()).Sub(at); d.Abs() > 100*time.Millisecond {
			t.Errorf("%v ago is off by %v", ago, d)
		}
	}
}

// The processes of a welcome are those of its peers, in their order.
func TestProcessesOfAWelcome(t *testing.T) {
	want := []job.Process{{loader, server}, {trainer}}
	got := (&Welcome{Peers: []Peer{{Process: want[0]}, {Process: want[1]}}}).Processes()
	if !slices.EqualFunc(got, want, func(a, b job.Process) bool { return slices.Equal(a, b) }) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Reads of the model that the host has asked for end, or do not in time.
func TestReadsEnd(t *testing.T) {
	m := &Member{closed: make(chan struct{})}
	if m.ReadsEnd(10 * time.Millisecond) {
		t.Error("reads have ended though the host may ask for more")
	}
	release := make(chan struct{})
	m.reads.Go(func() { <-release })
	close(m.closed)
	if m.ReadsEnd(10 * time.Millisecond) {
		t.Error("reads have ended before the last")
	}
	close(release)
	if !m.ReadsEnd(time.Minute) {
		t.Error("reads do not end")
	}
}
