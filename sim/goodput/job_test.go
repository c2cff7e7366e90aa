package goodput

import (
	"errors"
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/predict"
	"tandem/sim/station"
)

// jobOn returns a job of a cluster in a mode on 16 GPUs.
func jobOn(t *testing.T, preset, mode string) *predict.Job {
	t.Helper()
	j, _, err := predict.New(predict.Choice{Preset: preset, Mode: mode, GPUs: 16})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// What follows the death of each role is what docs/recovery.md says of it, in every mode: the roles are those
// of the mode, and redo logs help PSs and the coordinator of backup-workers, but not their machines.
func TestWhatFollowsTheDeathOfEachRole(t *testing.T) {
	for mode, want := range map[string]map[string][2]Consequence{ // without and with redo logs
		job.Hybrid:       {},
		"ssp":            {"coordinator": {Returns, Returns}, "dense-ps": {GoesBack, Redone}},
		"backup-workers": {"coordinator": {GoesBack, Redone}},
	} {
		want["data-loader"], want["embedding-worker"] = [2]Consequence{}, [2]Consequence{}
		want["embedding-ps"] = [2]Consequence{GoesBack, Redone}
		want["nn-worker"] = [2]Consequence{GoesBack, GoesBack}
		want["GPU server"], want["PS host"] = want["nn-worker"], want["nn-worker"]
		want["EW host"], want["loader host"] = [2]Consequence{}, [2]Consequence{}
		if _, dense := want["dense-ps"]; dense {
			want["dense PS host"] = want["nn-worker"]
		}
		for logs, redo := range []bool{false, true} {
			victims, err := Victims(jobOn(t, "persia-gcp", mode), Means{RedoLogs: redo})
			if err != nil {
				t.Fatal(err)
			}
			if len(victims) != len(want) {
				t.Errorf("%s: %+v", mode, victims)
			}
			for _, v := range victims {
				follows, known := want[v.Label()]
				if !known || v.Consequence != follows[logs] || v.Count < 1 ||
					v.GPUs != (v.Group == "GPU server") {
					t.Errorf("%s, redo logs %v: %+v", mode, redo, v)
				}
			}
		}
	}
	victims, err := Victims(jobOn(t, "dgx-h100", job.Sync), Means{})
	if err != nil || len(victims) != 2 || victims[0].Count != 16 || victims[1].Count != 2 {
		t.Errorf("of a step graph: %+v, %v", victims, err)
	}
}

// Ranks return with the parameters of others where all have the same, and so do their servers, and nothing
// else.
func TestRanksCopyWhereAllAreEqual(t *testing.T) {
	for mode, want := range map[string]Consequence{job.Sync: Copies, job.Hybrid: Copies,
		job.AsyncPS: GoesBack, job.AsyncAverage: GoesBack, "backup-workers": GoesBack} {
		victims, err := Victims(jobOn(t, "persia-gcp", mode), Means{Ranks: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range victims {
			switch label := v.Label(); {
			case label == "nn-worker" || label == "GPU server":
				if v.Consequence != want {
					t.Errorf("%s: %+v", mode, v)
				}
			case v.Consequence == Copies:
				t.Errorf("%s: %+v", mode, v)
			}
		}
	}
	j := jobOn(t, "persia-gcp", job.Hybrid)
	least := 4 * float64(j.Layout.Params) / float64(j.Hardware.Server.Network.Mid)
	if got := CopyTime(j).Seconds(); got < least*0.99 || got > 3*least*1.01 { // Adam has two states
		t.Errorf("%v s to copy a rank, want %v to three times that", got, least)
	}
}

// A checkpoint has every row with its sign and the state of its optimizer, and the dense network. Hosts write
// their parts at the same time, each at the rate of its storage or of its cards.
func TestSizeOfACheckpoint(t *testing.T) {
	for _, preset := range []string{"persia-gcp", "dgx-h100"} {
		mode := map[string]string{"persia-gcp": job.Hybrid, "dgx-h100": job.Sync}[preset]
		j := jobOn(t, preset, mode)
		s, err := SizeOf(j)
		if err != nil {
			t.Fatal(err)
		}
		size := j.Model.Size(j.Rows)
		rows := size.RowBytes + size.StateBytes + 8*size.Rows
		dense := float64(s.Whole) - rows
		if least := 4 * float64(j.Layout.Params); dense < least*0.99 || dense > 4*least+1e-6*rows {
			t.Errorf("%s: %v, of which %.0f bytes of rows; %d parameters", preset, s.Whole, rows,
				j.Layout.Params)
		}
		hosts := map[string]int{"persia-gcp": j.Hardware.EmbeddingPSs.Count.Mid, "dgx-h100": 2}[preset]
		if s.Hosts != hosts || s.Part < unit.Bytes(rows/float64(hosts)) {
			t.Errorf("%s: %+v; want %d hosts", preset, s, hosts)
		}
		if got, want := s.Time(1e6).Seconds(), float64(s.Part)/1e6; got < 0.99*want || got > 1.01*want {
			t.Errorf("%s: %v at 1 MB/s", preset, s.Time(1e6))
		}
		if fast := s.Time(1e15).Seconds(); s.Network == 0 || fast < 0.99*float64(s.Part)/float64(s.Network) {
			t.Errorf("%s: %v s, faster than the network cards", preset, fast)
		}
	}
	j := jobOn(t, "persia-gcp", job.Hybrid)
	j.Workload.Rows = 0
	if _, err := SizeOf(j); !errors.Is(err, ErrRows) {
		t.Errorf("of an unknown number of rows: %v", err)
	}
}

// Where the rows are on GPUs, the servers of the GPUs write them, and a rank that is lost takes some along.
func TestRowsOnGPUsAreLostWithARank(t *testing.T) {
	j := jobOn(t, "persia-gcp", job.Hybrid)
	j.Job.Rows.Placement, j.Job.Rows.Capacity, j.Job.Model.Device.CUDA = job.RowsOnGPU, 1000, true
	per := j.Cluster.AcceleratorsPerServer
	j.Roles.Ranks = 3 * per
	s, err := SizeOf(j)
	if err != nil || s.Hosts != 3 || s.Network != j.Hardware.Server.Network.Mid {
		t.Errorf("%+v, %v; want 3 hosts", s, err)
	}
	victims, err := Victims(j, Means{Ranks: true})
	if err != nil {
		t.Fatal(err)
	}
	found := 0 // the rank and its server
	for _, v := range victims {
		if v.Name != "nn-worker" && !v.GPUs {
			continue
		}
		found++
		if v.Consequence != GoesBack {
			t.Errorf("%s: %v, want %v", v.Label(), v.Consequence, GoesBack)
		}
	}
	if found != 2 {
		t.Errorf("%d victims are ranks or have GPUs, want 2", found)
	}
}

// A rank takes the parameters of another at the rate of the network cards of the servers of GPUs, and at once
// where there are none.
func TestTimeOfACopy(t *testing.T) {
	j := jobOn(t, "persia-gcp", job.Hybrid)
	seconds := float64(denseBytes(j)) / float64(j.Hardware.Server.Network.Mid)
	if got := CopyTime(j).Seconds(); !(seconds > 0) || math.Abs(got-seconds) > 1e-6 {
		t.Errorf("%v s, want %v", got, seconds)
	}
	j.Hardware.Server.Network = quantity.Value[unit.BytesPerSec]{}
	if got := CopyTime(j); got != 0 {
		t.Errorf("%v without network", got)
	}
}

// A PS handles its redo log with one thread: it takes as long as all threads had worked, of the kind of PS
// whose threads had the most to do.
func TestReplaySharesAreThreadsAtWork(t *testing.T) {
	r := &predict.Result{}
	for _, c := range []struct {
		name          string
		busy, servers float64
		want          float64
	}{
		{"EW threads", 0.9, 8, 0}, {"PS threads", 0.25, 8, 2}, {"dense PS threads", 0.5, 2, 2},
		{"dense PS threads", 0.75, 4, 3},
	} {
		r.Stations = append(r.Stations, station.Use{Name: c.name, Busy: c.busy, Servers: c.servers})
		if got := ReplayShare(r); got != c.want {
			t.Errorf("with %s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Every consequence and cause has its own name.
func TestNamesDiffer(t *testing.T) {
	names := map[string]bool{}
	for c := Returns; c <= GoesBack; c++ {
		names[c.String()] = true
	}
	for c := Saving; c < causes; c++ {
		names[c.String()] = true
	}
	if len(names) != int(GoesBack)+1+int(causes) {
		t.Errorf("%v", names)
	}
	if Copies.String() != "it copies another" || Restarting.String() != "restart" {
		t.Errorf("%q, %q", Copies, Restarting)
	}
}

// Where slots are in two places, PS hosts write the rows of theirs, and the servers of GPUs the rest.
func TestRowsBySlotAreWrittenByBothKindsOfHosts(t *testing.T) {
	j := jobOn(t, "persia-gcp", job.Hybrid)
	all, err := SizeOf(j)
	if err != nil {
		t.Fatal(err)
	}
	whole, groups := j.Workload, []cost.GroupRows{}
	for i, share := range []float64{0.25, 0.75} {
		groups = append(groups, cost.GroupRows{Slots: []string{[]string{"a", "b"}[i]},
			Rows: share * whole.Rows, Distinct: whole.Distinct})
	}
	j.Workload.Groups = groups
	j.Job.Rows.Placement, j.Job.Rows.Capacity, j.Job.Model.Device.CUDA = job.RowsOnGPU, 1000, true
	j.Job.Data.Slots = []job.SlotSetting{{Slot: "b", Placement: job.RowsOnPSs}}
	j.Roles.Ranks = j.Cluster.AcceleratorsPerServer
	s, err := SizeOf(j)
	if err != nil {
		t.Fatal(err)
	}
	row := float64(all.Part) * float64(all.Hosts) / whole.Rows // of PSs; no PS has less of the network
	onOne := max(0.25*whole.Rows*row, 0.75*whole.Rows*row/float64(all.Hosts))
	if ratio := float64(s.Part) / onOne; s.Hosts != all.Hosts+1 || math.Abs(ratio-1) > 0.01 ||
		math.Abs(float64(s.Whole)/float64(all.Whole)-1) > 0.01 ||
		s.Network != min(j.Hardware.Server.Network.Mid, j.Hardware.EmbeddingPSs.Host.Network.Mid) {
		t.Errorf("%+v; all on PSs %+v", s, all)
	}
}
