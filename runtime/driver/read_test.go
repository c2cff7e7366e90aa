package driver

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"tandem/algo/exec/evaluation"
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
