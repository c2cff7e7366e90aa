package validation

import (
	"fmt"

	"tandem/algo/job"
	"tandem/sim/predict"
)

// lists are the price lists of software that has none of its own name.
var lists = map[string]string{
	"persia":              "persia-2021",
	"pytorch-dlrm-graphs": Unknown,
	"oneflow":             Unknown,
}

// Unknown is the price list of software of which nothing is known.
const Unknown = "unknown"

// List returns the name of the price list of the step's software: a profile of package system. Software that
// is wholly unseen has the list of unknown software.
func (s *Step) List() string {
	if list, ok := lists[s.Software]; ok {
		return list
	}
	if s.Software == "pytorch-dlrm" && s.Version == dlrmWithoutKernels {
		return Unknown
	}
	return s.Software
}

// dlrmWithoutKernels is the version of pytorch-dlrm that does not have the kernels of later ones.
const dlrmWithoutKernels = "2020-04"

// Job returns the prediction of the step with a price list: a built-in one, or a user's file.
func (s *Step) Job(list string) (*predict.Job, error) {
	m, err := s.LoadModel()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.ID, err)
	}
	c, err := job.LoadCluster(s.Preset)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.ID, err)
	}
	c.SetAccelerator(s.Accelerator)
	c.AcceleratorsPerServer, c.Inside, c.Server = s.PerServer, s.Inside, s.Host
	if s.Network != "" {
		c.Network = s.Network
	}
	c.Precision = string(s.Compute)
	choice := predict.Choice{System: list, Mode: s.Mode, GPUs: s.GPUs, GlobalBatch: s.Batch}
	j, _, err := choice.With(c, m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.ID, err)
	}
	return j, nil
}
