package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/runtime/cuda/softgpu"
)

// A rank that does not fit is an error that says how much it needs and the largest groups that would fit:
// they do, and groups of a sample more do not.
func TestWhatDoesNotFitSaysWhatWould(t *testing.T) {
	for _, precision := range []string{job.FP32, job.BF16} {
		t.Run(precision, func(t *testing.T) { whatFits(t, precision) })
	}
}

func whatFits(t *testing.T, precision string) {
	softgpu.Set(t, "TANDEM_SOFTGPU_MEMORY", "50331648")
	g, n, optimizer := openIn(t, precision), networkNamed(t, "towers"), opt.DefaultDense()
	e, err := model.New(n.spec, n.schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	replica := func(samples int) error {
		made, err := g.NewMeasured(e, model.ReplicaConfig{Initial: initialValues(e),
			Optimizer: &optimizer, Groups: 2, SamplesMax: samples})
		if err == nil {
			err = made.Close()
		}
		return err
	}
	err = replica(1 << 20)
	if err == nil {
		t.Fatal("no error")
	}
	var fits int
	_, hint, _ := strings.Cut(err.Error(), " are free; ")
	if _, scanErr := fmt.Sscanf(hint, "groups of %d would fit", &fits); scanErr != nil {
		t.Fatalf("%v: %v", err, scanErr)
	}
	want := fmt.Sprintf("groups of %d would fit: lower training.global-batch", fits)
	if err := replica(fits + 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("groups of %d: %v; want that %s", fits+1, err, want)
	}
	if err := replica(fits); err != nil {
		t.Errorf("groups of %d should fit: %v", fits, err)
	}
}
