package shard

import (
	"fmt"
	"math/bits"

	"tandem/algo/rng"
)

// Plan says which embedding PS owns a row, or that the ranks do. Routing and evaluation use the plan of the
// job (job.Job.ShardPlan). Plans can be compared with ==. The zero value is not a valid plan.
//
// There is one kind, Rows: each PS owns whole rows, of every table, and embedding workers pool what they get
// from all PSs. WithHot takes the hot rows from the PSs, OnRanks all rows, and WithGroupsOnRanks those of
// some feature groups. A plan that keeps a table on one PS fits behind Owner, because a sign names its
// feature group (batch.Signer). One that cuts rows into columns needs an owner for each column beside it, and
// one under which PSs pool needs to say so.
type Plan struct {
	servers int
	hot     *Hot
	ranks   bool // have all rows
	// groups has the byte 1 at the number of every feature group whose rows the ranks have; shift leaves that
	// number of a sign.
	groups string
	shift  int
}

// Rows returns the plan that spreads the rows of all tables evenly over a number of
// PSs. It panics unless there is at least one.
func Rows(servers int) Plan {
	if servers < 1 {
		panic(fmt.Sprintf("shard: %d PSs, want at least 1", servers))
	}
	return Plan{servers: servers}
}

// Servers returns the number of PSs.
func (p Plan) Servers() int { return p.servers }

// WithHot returns the plan with hot rows, which the ranks own.
func (p Plan) WithHot(hot *Hot) Plan {
	p.hot = hot
	return p
}

// Hot returns the hot rows, or nil if the plan has none.
func (p Plan) Hot() *Hot { return p.hot }

// OnRanks returns the plan by which the ranks own all rows, and the PSs none.
func (p Plan) OnRanks() Plan {
	p.ranks = true
	return p
}

// WithGroupsOnRanks returns the plan by which the ranks own the rows of some feature groups, given by the
// prefixes of their signs (batch.Signer.Prefix), which a shift to the right turns into small numbers.
func (p Plan) WithGroupsOnRanks(prefixes []uint64, shift int) Plan {
	var groups []byte
	for _, prefix := range prefixes {
		group := int(prefix >> shift)
		groups = append(groups, make([]byte, max(0, group+1-len(groups)))...)
		groups[group] = 1
	}
	p.groups, p.shift = string(groups), shift
	return p
}

// AllOnRanks reports whether the ranks own all rows.
func (p Plan) AllOnRanks() bool { return p.ranks }

// Owners returns the number of owners: the PSs and, if they have rows, the ranks as one more, the last.
func (p Plan) Owners() int {
	if p.ranks || p.groups != "" || p.hot.Len() > 0 {
		return p.servers + 1
	}
	return p.servers
}

// Owner returns the owner of the row of a sign: the PS, from 0 to Servers()−1, or Servers() for a row that
// the ranks own. Signs are mixed first, so that any distinct signs are spread evenly over the PSs.
//
//	⌊ Mix(Mix(sign)+1) · Servers / 2⁶⁴ ⌋
//
// Deviation from PERSIA, which takes farmhash64(sign) modulo Servers: the upper
// half of a product instead of a remainder (Lemire, 2019), and another mixer.
func (p Plan) Owner(sign uint64) int {
	if _, hot := p.hot.Place(sign); hot || p.ranks {
		return p.servers
	}
	if group := sign >> p.shift; group < uint64(len(p.groups)) && p.groups[group] == 1 {
		return p.servers
	}
	// Tables index by Mix(sign); mixing once more keeps the two independent.
	hi, _ := bits.Mul64(rng.Mix(rng.Mix(sign)+1), uint64(p.servers))
	return int(hi)
}
