package job

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// The placements that have names.
const (
	Apart     = "apart"     // a process for every role
	Together  = "together"  // one process for all roles
	Workers   = "workers"   // embedding worker i with NN worker i; what has no such partner is alone
	Colocated = "colocated" // one process for all PSs, embedding and dense, and one for all other roles
)

// Placements lists the placements that have names.
func Placements() []string { return []string{Apart, Together, Workers, Colocated} }

// Placement says which roles share a process, where a run has processes. The zero value is Apart.
type Placement struct {
	name  string
	lists [][]msg.Address // where it has no name; indices may be anyIndex
}

// Named reports whether the placement has a name. A placement with a name suits every job.
func (p *Placement) Named() bool { return len(p.lists) == 0 }

// Listed returns the placement with these processes.
func Listed(processes []Process) (p Placement) {
	for _, roles := range processes {
		p.lists = append(p.lists, roles)
	}
	return p
}

// anyIndex is the index of a role that is written without one, because the job has one instance of it.
const anyIndex = -1

// ProcessRolesMax is the largest number of roles of one process: the message in which it joins a run lists
// them.
const ProcessRolesMax = 512

// Process is the roles of one process, ascending.
type Process []msg.Address

// String names the process in lines for people: a role alone by its name, several as
// "the process of embedding-worker 0 and nn-worker 0".
func (p Process) String() string {
	if len(p) == 1 {
		return p[0].String()
	}
	return "the process of " + p.Names()
}

// Names lists the roles: up to three by name, of more the first two and the number of the others.
func (p Process) Names() string {
	var names []string
	for _, at := range p {
		names = append(names, at.String())
	}
	const most = 3
	if len(names) > most {
		names = append(names[:most-1:most-1], fmt.Sprintf("%d other roles", len(names)-most+1))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Has reports whether a role is in the process.
func (p Process) Has(at msg.Address) bool { return slices.Contains(p, at) }

// HoldsModel reports whether a role of the process holds a part of the model.
func (p Process) HoldsModel() bool {
	return slices.ContainsFunc(p, func(at msg.Address) bool {
		return at.Role == msg.EmbeddingPS || at.Role == msg.NNWorker || at.Role == msg.DensePS
	})
}

// Lasting returns the first role of the process for which can returns false; ok is false if there is none.
// With role.Config.CanRestart for can: the first role that cannot restart, and hence keeps its process from
// restarting.
func (p Process) Lasting(can func(msg.Role) bool) (at msg.Address, ok bool) {
	for _, at := range p {
		if !can(at.Role) {
			return at, true
		}
	}
	return msg.Address{}, false
}

// HasKind reports whether some role of the process is of a kind.
func (p Process) HasKind(kind msg.Role) bool {
	return slices.ContainsFunc(p, func(at msg.Address) bool { return at.Role == kind })
}

// ProcessNumbers returns role.Config.ProcessOf of a run in some processes, or nil if no rank shares its
// process with an embedding worker.
func ProcessNumbers(all []Process, embeddingWorkers, ranks int) []int32 {
	numbers, shared := make([]int32, embeddingWorkers+ranks), false
	for i, p := range all {
		shared = shared || p.HasKind(msg.EmbeddingWorker) && p.HasKind(msg.NNWorker)
		for _, at := range p {
			switch at.Role {
			case msg.EmbeddingWorker:
				numbers[at.Index] = int32(i)
			case msg.NNWorker:
				numbers[embeddingWorkers+int(at.Index)] = int32(i)
			}
		}
	}
	if !shared {
		return nil
	}
	return numbers
}

// Processes returns the processes of a run with the roles of cfg, ordered by their first roles.
//
// The error names a role that the run does not have, that is in two processes, or that is in none, or a
// process of more than ProcessRolesMax roles.
func (p *Placement) Processes(cfg *role.Config) (all []Process, err error) {
	switch {
	case !p.Named():
		all, err = p.listed(cfg)
	case p.name == Together:
		all = []Process{rolesOf(cfg)}
	case p.name == Workers:
		all = workers(cfg)
	case p.name == Colocated:
		all = colocated(cfg)
	default:
		for _, at := range rolesOf(cfg) {
			all = append(all, Process{at})
		}
	}
	if err != nil {
		return nil, err
	}
	for _, process := range all {
		if len(process) > ProcessRolesMax {
			return nil, fmt.Errorf("%v is too large; a process has at most %d roles", process,
				ProcessRolesMax)
		}
	}
	slices.SortFunc(all, func(a, b Process) int { return a[0].Compare(b[0]) })
	return all, nil
}

// rolesOf lists the roles of a run.
func rolesOf(cfg *role.Config) (all Process) {
	roster := cfg.Roster()
	for i := range roster.Len() {
		all = append(all, roster.Address(i))
	}
	return all
}

// workers pairs embedding workers and ranks by their numbers.
func workers(cfg *role.Config) (all []Process) {
	for _, at := range rolesOf(cfg) {
		if at.Role == msg.NNWorker && at.Index < cfg.EmbeddingWorkers {
			own := &all[1+at.Index] // behind the data loader
			*own = append(*own, at)
		} else {
			all = append(all, Process{at})
		}
	}
	return all
}

// colocated parts the PSs, which keep the parameters, from the roles that compute with them.
func colocated(cfg *role.Config) []Process {
	var others, servers Process
	for _, at := range rolesOf(cfg) {
		if at.Role == msg.EmbeddingPS || at.Role == msg.DensePS {
			servers = append(servers, at)
		} else {
			others = append(others, at)
		}
	}
	return []Process{others, servers}
}

// listed checks a placement without a name, and names the roles that are the only ones of their kind.
func (p *Placement) listed(cfg *role.Config) ([]Process, error) {
	left, roster := rolesOf(cfg), cfg.Roster()
	var all []Process
	for _, list := range p.lists {
		var process Process
		for _, at := range list {
			if at.Index == anyIndex {
				if n := cfg.Count(at.Role); n > 1 {
					return nil, fmt.Errorf("%s: which of %d? write %[1]s 0", at.Role, n)
				}
				at.Index = 0
			}
			if _, known := roster.Index(at); !known {
				return nil, errNoRole(cfg, at)
			}
			i := slices.Index(left, at)
			if i < 0 {
				return nil, fmt.Errorf("%v is there twice; a role is in one process", at)
			}
			left = slices.Delete(left, i, i+1)
			process = append(process, at)
		}
		slices.SortFunc(process, msg.Address.Compare)
		all = append(all, process)
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("left out: %s; list every role of the job", left.Names())
	}
	return all, nil
}

// errNoRole is the error for a role that a run does not have.
func errNoRole(cfg *role.Config, at msg.Address) error {
	switch n := cfg.Count(at.Role); n {
	case 0:
		return fmt.Errorf("mode %s has no %s", cfg.Rule.Name(), at.Role)
	case 1:
		return fmt.Errorf("the job has no %v, only %s 0", at, at.Role)
	default:
		return fmt.Errorf("the job has no %v, only %s 0 to %d", at, at.Role, n-1)
	}
}
