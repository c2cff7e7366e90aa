package predict_test

import (
	"slices"
	"testing"

	"tandem/sim/cluster"
	"tandem/sim/predict"
)

// What binds a run and what can be improved have the same names: every group of the parameters of a system of
// roles is a resource of the simulation, and every resource is a group of some system.
func TestResourcesAreGroupsOfParameters(t *testing.T) {
	known := cluster.Resources()
	// Of these, the first is part of kernels, and only step graphs and only one machine have the others.
	graphs := []string{"interference of collectives", "collective launches", "GPU server SSD"}
	machine := []string{"machine cores", "machine memory"}
	groups := map[string]bool{}
	for _, system := range []string{"persia-2021", "tandem"} {
		j, _, err := predict.New(predict.Choice{System: system})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range j.Parameters().Groups() {
			groups[g] = true
			if !slices.Contains(known, g) && !slices.Contains(graphs, g) {
				t.Errorf("%s: group %q is no resource of %v", system, g, known)
			}
		}
	}
	for _, name := range known {
		if !groups[name] && !slices.Contains(machine, name) {
			t.Errorf("resource %q is no group of parameters", name)
		}
	}
}

// Every bottleneck of a step graph is a group of its parameters, or a delay.
func TestBottlenecksOfStepGraphsAreGroups(t *testing.T) {
	for _, c := range []predict.Choice{
		{Preset: "dgx-h100", GPUs: 16, BatchPerGPU: 512}, {Preset: "dgx-a100", GPUs: 8},
		{Preset: "zionex-128", Model: "neo-12t", GPUs: 128},
	} {
		j, _, err := predict.New(c)
		if err != nil {
			t.Fatal(err)
		}
		list := run(t, j, predict.Options{Steps: 4}).Mid.Bottlenecks
		sum := 0.0
		for i, b := range list {
			sum += b.Share
			if i > 0 && b.Share > list[i-1].Share {
				t.Errorf("%s: %v is not sorted", c.Preset, list)
			}
			if b.Resource != "delays" && !slices.Contains(j.Parameters().Groups(), b.Resource) {
				t.Errorf("%s: %q is no group of %v", c.Preset, b.Resource, j.Parameters().Groups())
			}
		}
		if sum < 0.999 || sum > 1.001 {
			t.Errorf("%s: shares sum to %v", c.Preset, sum)
		}
	}
}
