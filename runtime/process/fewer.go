package process

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
)

// cast says which process has which roles in a part of a run. The seat of a process is the roles with which
// it was started.
type cast struct {
	roles     job.Roles
	processes []job.Process // with the roles that they have in the part
	seats     []job.Process // of these processes
	spare     []job.Process // seats of processes that have no role, whether they are there or not
	there     []job.Process // seats of the processes that are there
}

// wholeCast returns the cast of a job all of whose processes are there.
func wholeCast(j *job.Job) (*cast, error) {
	all, err := j.Processes()
	if err != nil {
		return nil, err
	}
	return &cast{roles: j.Roles, processes: all, seats: all, there: all}, nil
}

// fewer returns a cast of some of the processes of a job: the largest in which every role of the mode is
// there. Roles keep their kinds and are numbered again, because those of a run have the numbers from 0 on.
// The error says which role is missing.
func fewer(j job.Job, all, there []job.Process) (*cast, error) {
	wanted := count(all)
	left := count(there)
	for kind := range wanted {
		if left[kind] == 0 {
			return nil, fmt.Errorf("fewer processes than mode %s needs: none with the role %v is left",
				j.Training.Mode, kind)
		}
	}
	for ; left[msg.NNWorker] > 0; left[msg.NNWorker]-- {
		c := assign(all, there, left)
		c.roles = rolesOf(c.processes, j.Roles)
		if j.Roles = c.roles; j.Validate() == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("fewer processes than mode %s needs: no smaller number of NN workers suits it",
		j.Training.Mode)
}

// rolesOf returns the numbers of roles of processes, and their placement. A mode without dense PSs has no
// process with one, and keeps the job's number of them.
func rolesOf(all []job.Process, whole job.Roles) job.Roles {
	n, roles := count(all), whole
	roles.Ranks, roles.EmbeddingWorkers, roles.EmbeddingPSs = n[msg.NNWorker], n[msg.EmbeddingWorker],
		n[msg.EmbeddingPS]
	roles.DensePSs = cmp.Or(n[msg.DensePS], whole.DensePSs)
	roles.Placement = job.Listed(all)
	return roles
}

// count counts the roles of processes.
func count(all []job.Process) map[msg.Role]int {
	n := map[msg.Role]int{}
	for _, at := range slices.Concat(all...) {
		n[at.Role]++
	}
	return n
}

// assign gives roles to those processes of a job that are there: of each kind that many, in their order.
func assign(all, there []job.Process, wanted map[msg.Role]int) *cast {
	c, next := &cast{there: there}, map[msg.Role]int{}
	for _, seat := range all {
		var roles job.Process
		for _, at := range seat {
			if n := next[at.Role]; isThere(seat, there) && n < wanted[at.Role] {
				roles = append(roles, msg.Address{Role: at.Role, Index: int32(n)})
				next[at.Role]++
			}
		}
		if len(roles) == 0 {
			c.spare = append(c.spare, seat)
			continue
		}
		c.processes, c.seats = append(c.processes, roles), append(c.seats, seat)
	}
	return c
}

// equal reports whether every process has the roles that it has in another cast.
func (c *cast) equal(other *cast) bool {
	return slices.EqualFunc(c.seats, other.seats, slices.Equal) &&
		slices.EqualFunc(c.processes, other.processes, slices.Equal)
}

// isThere reports whether a process with a seat is among some.
func isThere(seat job.Process, there []job.Process) bool {
	return slices.ContainsFunc(there, func(p job.Process) bool { return p[0] == seat[0] })
}

// compared says which processes are not there, how many of each kind of role are left where they are fewer
// than in the whole cast, and which processes have none although they are there.
func (c *cast) compared(whole *cast) string {
	var lost, counts, idle []string
	for _, seat := range whole.seats {
		switch {
		case !isThere(seat, c.there):
			lost = append(lost, seat.String())
		case isThere(seat, c.spare):
			idle = append(idle, seat.String())
		}
	}
	for _, r := range []struct {
		name      string
		now, were int
	}{
		{"NN workers", c.roles.Ranks, whole.roles.Ranks},
		{"embedding workers", c.roles.EmbeddingWorkers, whole.roles.EmbeddingWorkers},
		{"embedding PSs", c.roles.EmbeddingPSs, whole.roles.EmbeddingPSs},
		{"dense PSs", c.roles.DensePSs, whole.roles.DensePSs},
	} {
		if r.now < r.were {
			counts = append(counts, fmt.Sprintf("%d of %d %s", r.now, r.were, r.name))
		}
	}
	text := fmt.Sprintf("the run goes on without %s: with %s", strings.Join(lost, " and "),
		strings.Join(counts, ", "))
	if len(idle) > 0 {
		text += fmt.Sprintf("; %s without work: the number of ranks must suit the mode",
			strings.Join(idle, " and "))
	}
	return text
}
