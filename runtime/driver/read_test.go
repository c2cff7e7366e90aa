package driver

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"tandem/algo/exec/evaluation"
	"tandem/algo/protocol/pace"
)

// Before every step of rank 0, in order, the state can be read. In sync mode it then equals the state after a
// shorter run, for the rows of a step that every PS has closed.
func TestBeforeStepReadsTheState(t *testing.T) {
	const trained = 8
	for _, rule := range rules() {
		var signs []uint64
		signer := steps(0).Schema().Signer(0)
		for id := range uint64(100) {
			signs = append(signs, signer.Sign(id, 0))
		}
		read := func(state evaluation.State) []float32 {
			values, err := state.ReadDense()
			if err != nil {
				t.Error(err)
			}
			all := values.Params
			for p := range servers {
				rows := make([]float32, len(signs))
				if err := state.ReadRows(p, signs, rows); err != nil {
					t.Error(err)
				}
				all = append(all, rows...)
			}
			return all
		}
		var seen [][]float32
		cfg, p := cluster(t, rule, steps(trained))
		err := Run(t.Context(), cfg, p, Options{BeforeStep: func(step int, state evaluation.State) error {
			if step != len(seen) {
				t.Errorf("%+v: before step %d after %d others", rule, step, len(seen))
			}
			seen = append(seen, read(state))
			return nil
		}})
		if err != nil || len(seen) != trained {
			t.Fatalf("%+v: %v, asked %d times", rule, err, len(seen))
		}
		if !rule.InStep() {
			continue
		}
		for n := 1; n < trained; n += 3 {
			cfg, shorter := cluster(t, rule, steps(n))
			if err := Run(t.Context(), cfg, shorter, Options{}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(seen[n], read(shorter.Model())) {
				t.Errorf("%+v: before step %d the state is not that of a run of %d steps", rule, n, n)
			}
		}
	}
}

// An error before a step stops every role and is returned. Afterwards no goroutine is left that could read a
// row.
func TestBeforeStepStopsTheRun(t *testing.T) {
	for _, rule := range rules() {
		synctest.Test(t, func(t *testing.T) {
			var kept evaluation.State
			cfg, p := cluster(t, rule, steps(10))
			err := Run(t.Context(), cfg, p, Options{BeforeStep: func(step int, state evaluation.State) error {
				if kept = state; step == 3 {
					return errDisk
				}
				return nil
			}})
			if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "step 3") {
				t.Errorf("%+v: %v", rule, err)
			}
			if err := kept.ReadRows(0, nil, nil); err == nil {
				t.Error("a row was read after the run")
			}
		})
	}
}

// Rows whose read was started before a step are those of that time, in sync mode the rows of a shorter run,
// although they come while the training goes on.
func TestStartedReadsKeepTheirTime(t *testing.T) {
	const trained = 8
	var signs []uint64
	signer := steps(0).Schema().Signer(0)
	for id := range uint64(100) {
		signs = append(signs, signer.Sign(id, 0))
	}
	rule := pace.Sync{Overlap: pace.OverlapIDsDS}
	rows, awaits := make([][servers][]float32, trained), []func() error{}
	cfg, p := cluster(t, rule, steps(trained))
	err := Run(t.Context(), cfg, p, Options{BeforeStep: func(step int, state evaluation.State) error {
		for server := range servers {
			rows[step][server] = make([]float32, len(signs))
			awaits = append(awaits,
				state.(evaluation.StartingState).StartRows(server, signs, rows[step][server]))
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, await := range awaits {
		if err := await(); err != nil {
			t.Error(err)
		}
	}
	for n := 1; n < trained; n += 3 {
		cfg, shorter := cluster(t, rule, steps(n))
		if err := Run(t.Context(), cfg, shorter, Options{}); err != nil {
			t.Fatal(err)
		}
		for server := range servers {
			want := make([]float32, len(signs))
			if err := shorter.Model().ReadRows(server, signs, want); err != nil {
				t.Error(err)
			}
			if !slices.Equal(rows[n][server], want) {
				t.Errorf("before step %d, PS %d: not the rows of a run of %d steps", n, server, n)
			}
		}
	}
}

// A started read does not hold back its caller while the PS works. If the run ends before the PS gets to it,
// await says so.
func TestStartedReadDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, p := cluster(t, pace.Sync{Overlap: pace.OverlapNone}, steps(1))
		local, err := NewLocal(cfg, p, Options{}, AllLocal, nil)
		if err != nil {
			t.Fatal(err)
		}
		state := liveState{local.run}
		await := state.StartRows(0, nil, nil) // no lane works before Run
		local.run.fail(errDisk)
		if err := await(); !errors.Is(err, errDisk) {
			t.Error(err)
		}
	})
}
