package cluster

import (
	"math"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/station"
)

// share is how much one of several like pieces stands for. Shared resources see work as large as the mean of
// all pieces, while the piece itself takes as long as that of one member: its threads are as many as make
// both true.
type share struct{ work, threads float64 }

// whole is the share of a piece that stands for itself.
var whole = share{1, 1}

// shareOf returns the share of a piece of work or a message for the batch of a rank on the host of a role.
// The time of the piece has a random factor. Threads is how many pieces at most are in service at once; 0:
// all.
func (f *folding) shareOf(at *place, rank int32, factor, threads float64) share {
	if f == nil || rank < 0 || f.ranks[rank].size == 1 {
		return whole
	}
	size := float64(f.ranks[rank].size)
	switch work := size / factor; {
	case at.own:
		return share{1 / factor, 1 / factor}
	case threads == 0:
		return share{work, work}
	default:
		return share{work, min(work, threads)}
	}
}

// busyShare returns the share of the time of a piece that takes a random factor that counts as busy on a
// station of a rank: that of the mean member of its class.
func (f *folding) busyShare(rank int32, factor float64) float64 {
	if f == nil || f.ranks[rank].size == 1 {
		return 1
	}
	return 1 / factor
}

// laneOf returns how many pieces of work at once are in service in a lane of a role whose instances have a
// number of threads, and notes how many of the threads each piece has. Where threads are cores, the cores are
// the bound.
func (f *folding) laneOf(at *place, r msg.Role, threads int) int {
	if f == nil || r != msg.EmbeddingWorker && r != msg.EmbeddingPS && r != msg.DensePS {
		return threads
	}
	all := float64(threads)
	if r == msg.EmbeddingWorker {
		all *= f.workers
	}
	pieces := max(1, math.Ceil(all/f.mean-1e-9))
	if at.service.AllCores {
		if f.mean < 2*all {
			pieces = max(2, pieces) // a piece alone can leave cores idle: see share
		}
		return int(pieces)
	}
	at.threads = all / pieces
	return int(pieces)
}

// stationOf returns a lane of a simulated role as that of one of the roles that it stands for, and their
// number.
func (f *folding) stationOf(n *instance, lane *station.Lane) (station.Station, float64) {
	if f == nil || n.at.Role == msg.DataLoader {
		return lane, 1
	}
	count := 1.0
	if n.at.Role == msg.EmbeddingWorker {
		count = f.workers
	}
	return &pooled{lane, float64(n.threads), f.mean / count}, count
}

// meanTimes follows the passes of a simulated rank, which takes as long for them as the slowest of its class,
// and gives the instants at which the mean member would be as far. The rest of the time it waits for others.
type meanTimes struct {
	since   unit.Tick // the last instant, as it was
	mean    unit.Tick // … and as it would be
	factor  float64   // on the time since then
	running bool      // a pass
}

// adjust changes the time of a record of a rank to that of the mean member of its class.
func (m *meanTimes) adjust(w *simulation, r *event.Record) {
	now := r.At
	switch r.Kind {
	case event.ForwardStarted:
		m.begin(w, now, now, r, role.Forward)
		return
	case event.BackwardStarted, event.BackwardDone, event.SyncStarted:
	default:
		return
	}
	if m.running {
		r.At = m.mean + (now - m.since).Scale(1/m.factor)
	} else {
		r.At = m.mean + now - m.since
	}
	switch r.Kind {
	case event.BackwardStarted:
		m.begin(w, now, r.At, r, role.Backward)
	case event.BackwardDone:
		m.since, m.mean, m.running = now, r.At, false
	}
}

// begin notes that a pass begins.
func (m *meanTimes) begin(w *simulation, now, mean unit.Tick, r *event.Record, kind role.WorkKind) {
	m.since, m.mean, m.running, m.factor = now, mean, true, 1
	if w.fold.ranks[r.Rank].size > 1 {
		m.factor = w.launchJitter(role.Work{Kind: kind, Rank: r.Rank, Step: r.Step})
	}
}
