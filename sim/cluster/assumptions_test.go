package cluster

import (
	"reflect"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
)

// A result names the quantities that it rests on, with the hosts of as many dense PSs as the job has, whether
// it computes numbers or not.
func TestResultsNameWhatTheyRestOn(t *testing.T) {
	source := samples{steps: 12, size: 32, last: 32}
	for mode, dense := range map[string]int{job.Hybrid: 0, job.AsyncPS: 2} {
		for _, numbers := range []bool{false, true} {
			j := numeric(mode, 2)
			j.Roles.DensePSs = max(1, dense)
			engine, err := backend.NewEngine(&j, source.Schema(), backend.Backend{})
			if err != nil {
				t.Fatal(err)
			}
			h := hardwareOf(t, hosts(1, 1))
			var o Options
			if numbers {
				o.Numerics = func(j job.Job) (Numerics, error) { return newSerial(j, source) }
			}
			r, err := Run(h, j, engine.Layout(), counted(), o)
			if err != nil {
				t.Fatal(err)
			}
			if want := h.Assumptions(dense); !reflect.DeepEqual(r.Assumptions, want) {
				t.Errorf("%s, numbers %v: %+v, want %+v", mode, numbers, r.Assumptions, want)
			}
		}
	}
}
