package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"tandem/algo/job"
	"tandem/sim/cost"
	"tandem/sim/graph"
	"tandem/sim/predict"
	"tandem/sim/system"
)

// ErrEmpty is wrapped by the error about a space without any cluster.
var ErrEmpty = errors.New("no cluster to choose from")

// Ask is what is to be trained, and on what it may be.
type Ask struct {
	Choice       predict.Choice // of the model, its batch and what all clusters share
	Presets      []string       // of clusters
	Accelerators []string       // in place of the presets'; none: the presets'
	Modes        []string
	GPUsMost     int
	HostsMost    int     // of a role
	Share        float64 // of the price of GPUs and their servers that is paid, as for spot instances
}

// family is a family of a space.
type family struct {
	choice  predict.Choice
	section job.Cluster
	base    *predict.Job
	share   float64 // of the price of GPUs and their servers
	servers []int
	hosts   [roles][]int
}

// Space is the clusters that a search chooses from.
type Space struct {
	families  []family
	mu        sync.Mutex
	divisions map[Place]*predict.Division // of the places whose job leaves slots to PSs
}

// NewSpace returns the clusters of an ask, and notes about those that are left out.
func NewSpace(a Ask) (s *Space, notes []string, err error) {
	s = &Space{divisions: map[Place]*predict.Division{}}
	for _, name := range a.Presets {
		section, err := job.LoadCluster(name)
		if err != nil {
			return nil, nil, err
		}
		accelerators := a.Accelerators
		if len(accelerators) == 0 {
			accelerators = []string{section.Accelerator}
		}
		for _, accelerator := range accelerators {
			left, err := s.addPreset(&a, section, accelerator)
			if err != nil {
				return nil, nil, err
			}
			notes = append(notes, left...)
		}
	}
	if len(s.families) == 0 {
		return nil, nil, fmt.Errorf("%w: %s", ErrEmpty, strings.Join(notes, "; "))
	}
	return s, notes, nil
}

// addPreset adds the families of a cluster with an accelerator, or says why all of them are left out.
func (s *Space) addPreset(a *Ask, section job.Cluster, accelerator string) (left []string, err error) {
	section.SetAccelerator(accelerator)
	name := fmt.Sprintf("%s with %s", section.Preset, accelerator)
	fits := false
	for _, mode := range a.Modes {
		for _, host := range psHosts(&section) {
			f := family{choice: a.Choice, section: section, share: a.Share}
			f.choice.Mode = mode
			if host != section.EmbeddingPSs.Profile {
				f.section.EmbeddingPSs.Profile, f.section.EmbeddingPSs.PerHost = host, 1
			}
			if f.servers = numbers(a.GPUsMost / section.AcceleratorsPerServer); len(f.servers) == 0 {
				return []string{fmt.Sprintf("%s is left out: a server has %d GPUs", name,
					section.AcceleratorsPerServer)}, nil
			}
			for i := range f.hosts {
				f.hosts[i] = []int{1}
			}
			if f.base, err = f.job(Place{}); errors.Is(err, cost.ErrIncompatible) ||
				errors.Is(err, predict.ErrChoice) {
				left = append(left, fmt.Sprintf("%s in %s is left out: %v", name, mode, err))
				continue
			}
			if err != nil {
				return nil, err
			}
			f.choice.Like = f.base
			if _, _, missing := f.base.DollarsPerHour(1); missing != "" {
				return []string{fmt.Sprintf("%s is left out: no price is known of %s; --set gives one, as "+
					"server.dollars-per-hour=5", name, missing)}, nil
			}
			if f.base.Hardware.System.Architecture == system.Roles {
				for i := range f.hosts {
					f.hosts[i] = numbers(a.HostsMost)
				}
			}
			s.families = append(s.families, f)
			fits = true
		}
	}
	if fits {
		return nil, nil // a mode that the system does not have is no news where another is possible
	}
	return left, nil
}

// psHosts returns the profiles of hosts that embedding PSs can have: their own, and that of embedding
// workers.
func psHosts(c *job.Cluster) []string {
	return slices.Compact([]string{c.EmbeddingPSs.Profile, c.EmbeddingWorkers.Profile})
}

// numbers returns 1, 2, 3, 4, 6, 8, 12 and so on, up to most.
func numbers(most int) (list []int) {
	for n := 1; n <= most; n *= 2 {
		list = append(list, n)
		if more := n + n/2; n > 1 && more <= most {
			list = append(list, more)
		}
	}
	return list
}

// job returns the job of a place of the family.
func (f *family) job(p Place) (*predict.Job, error) {
	choice := f.choice
	choice.GPUs = f.servers[p.Servers] * f.section.AcceleratorsPerServer
	section := f.section
	for i, hosts := range []*job.Hosts{&section.EmbeddingWorkers, &section.EmbeddingPSs, &section.Loaders} {
		if hosts.Count > 0 { // the number is chosen, so it has no range
			hosts.Count, hosts.CountLow, hosts.CountHigh = f.hosts[i][p.Hosts[i]], 0, 0
		}
	}
	j, _, err := choice.On(section)
	if err != nil {
		return nil, err
	}
	j.Hardware.PayShare(f.share)
	return j, nil
}

// Families implements Problem.
func (s *Space) Families() int { return len(s.families) }

// Servers implements Problem.
func (s *Space) Servers(family int) []int { return s.families[family].servers }

// Hosts implements Problem.
func (s *Space) Hosts(family int) (counts [roles]int) {
	for i, list := range s.families[family].hosts {
		counts[i] = len(list)
	}
	return counts
}

// Job returns the job of a place, with the rows of its slots where they were simulated.
func (s *Space) Job(p Place) (*predict.Job, error) {
	j, err := s.families[p.Family].job(p)
	if d := s.Division(p); d != nil && err == nil {
		j = d.Of(j)
	}
	return j, err
}

// Division returns which slots the simulation of a place has left to PSs; nil if none.
func (s *Space) Division(p Place) *predict.Division {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.divisions[p]
}

// divisionsTried is the number of divisions of the slots of a job that are simulated for each place.
const divisionsTried = 7

// divide simulates the job of a place with slots left to PSs, and returns the throughput; 0 if no division
// that is tried fits.
func (s *Space) divide(p Place, j *predict.Job) (throughput float64, err error) {
	d, err := predict.Divide(context.Background(), j, predict.Options{Workers: 1, Seed: Seed,
		Divisions: divisionsTried})
	if err != nil || d == nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.divisions[p] = d
	return d.Rate, nil
}

// PerHour implements Problem, without reading any profile again.
func (s *Space) PerHour(p Place) float64 {
	f := &s.families[p.Family]
	h := f.base.Hardware.Clone()
	j := f.base.Job
	j.Roles.Ranks = f.servers[p.Servers] * f.section.AcceleratorsPerServer
	if h.System.Architecture == system.Roles {
		h.EmbeddingWorkers.Count.Fix(float64(f.hosts[Workers][p.Hosts[Workers]]))
		h.EmbeddingPSs.Count.Fix(float64(f.hosts[PSs][p.Hosts[PSs]]))
		h.Loaders.Count.Fix(float64(f.hosts[Loaders][p.Hosts[Loaders]]))
		j.Roles.DensePSs = predict.DensePSs(h)
	}
	all, _ := h.DollarsPerHour(j.Roles.Ranks, len(j.DenseShards(f.base.Layout)))
	return float64(all)
}

// Seed is the seed of jitter in simulations of a plan: the default of other predictions.
const Seed = 1

// Simulate implements Problem: it takes the middle of what is not known.
func (s *Space) Simulate(p Place) (Outcome, error) {
	j, err := s.Job(p)
	if err == nil {
		var r *predict.Prediction
		r, err = predict.Run(context.Background(), j, predict.Options{Workers: 1, Seed: Seed})
		if err == nil {
			short := r.Mid.Graph != nil && slices.ContainsFunc(r.Mid.Graph.Placement,
				func(s graph.Shard) bool { return s.Tier != graph.HBM })
			return Outcome{Throughput: r.Mid.Throughput, Short: short}, nil
		}
	}
	if errors.Is(err, cost.ErrGPUMemory) && j.HasRowsOnGPU() {
		if rate, failed := s.divide(p, j); failed != nil || rate > 0 {
			return Outcome{Throughput: rate, Short: true}, failed
		}
	}
	if predict.DoesNotFit(err) || errors.Is(err, predict.ErrChoice) {
		return Outcome{Refusal: err}, nil
	}
	return Outcome{}, fmt.Errorf("%s: %w", s.Describe(p), err)
}

// Mode returns the mode of a place.
func (s *Space) Mode(p Place) string { return s.families[p.Family].base.Training.Mode }

// Describe names a place.
func (s *Space) Describe(p Place) string {
	f := &s.families[p.Family]
	text := fmt.Sprintf("%s: %d %s", f.section.Preset, f.servers[p.Servers]*f.section.AcceleratorsPerServer,
		f.section.Accelerator)
	if f.base.Hardware.System.Architecture == system.Roles {
		n := s.Numbers(p)
		text += fmt.Sprintf(", %s, %d EW, %d PS, %d loader hosts", f.choice.Mode, n[Workers], n[PSs],
			n[Loaders])
	}
	return text
}

// HostsFor returns the smallest number of hosts that a search tries and whose PSs hold the rows of the job; 0
// if the rows are not on PSs, or fit at the place.
func (s *Space) HostsFor(p Place) int {
	j, err := s.Job(p)
	if err != nil || j.Hardware.System.Architecture != system.Roles {
		return 0
	}
	m := cost.MemoryUse(j.Hardware.Resolve(), &j.Job, j.Layout, &j.Workload)
	if m.PS <= m.PSHas {
		return 0
	}
	least := int(math.Ceil(float64(m.PS) * float64(s.Numbers(p)[PSs]) / float64(m.PSHas)))
	all := numbers(2 * least)
	return all[slices.IndexFunc(all, func(n int) bool { return n >= least })]
}

// Numbers returns the numbers of hosts of a place.
func (s *Space) Numbers(p Place) (n [roles]int) {
	for i := range n {
		n[i] = s.families[p.Family].hosts[i][p.Hosts[i]]
	}
	return n
}
