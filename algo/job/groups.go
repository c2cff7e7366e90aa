package job

import (
	"fmt"
	"math/bits"
)

// GroupsPerRank returns the number of groups that every rank trains on in a step:
// the largest power of two that is at most max(1, V/N), for Groups V and Ranks N.
func (j *Job) GroupsPerRank() int {
	return 1 << (bits.Len(uint(max(1, j.Training.Groups/j.Roles.Ranks))) - 1)
}

// TotalGroups returns the number of groups that a global batch is cut into: Groups
// if Ranks divides it, else Ranks times GroupsPerRank.
func (j *Job) TotalGroups() int { return j.Roles.Ranks * j.GroupsPerRank() }

// RanksError is the error for ranks that do not divide the groups of a mode whose
// values are those of sequential training, bit for bit.
type RanksError struct {
	Mode          string
	Ranks, Groups int
}

// Error implements error.
func (e *RanksError) Error() string {
	remedy := fmt.Sprintf("ranks from the powers of two up to %d", e.Groups)
	if e.Ranks > e.Groups && e.Ranks&(e.Ranks-1) == 0 {
		remedy += fmt.Sprintf(", groups = %d", e.Ranks)
	}
	return fmt.Sprintf("ranks = %d do not divide groups = %d: %s promises the bits of sequential training "+
		"for any ranks,"+
		" so all sum along one binary tree over the groups, of which each rank owns a branch; choose %s, "+
		"or another mode",
		e.Ranks, e.Groups, e.Mode, remedy)
}

// validateGroups reports ranks that do not suit the mode, as a *RanksError.
func (j *Job) validateGroups() error {
	if j.Training.Groups%j.Roles.Ranks == 0 {
		return nil
	}
	// sequential has no rule, and no other ranks to agree with
	if rule, err := j.Rule(); err != nil || !rule.Exact() {
		return nil
	}
	return &RanksError{j.Training.Mode, j.Roles.Ranks, j.Training.Groups}
}
