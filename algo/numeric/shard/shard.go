package shard

import (
	"fmt"
	"math/bits"

	"tandem/algo/rng"
)

// Plan says which embedding PS owns a row. Routing and evaluation use the plan of the job
// (job.Job.ShardPlan). Plans can be compared with ==. The zero value is not a valid plan.
//
// There is one kind, Rows: each PS owns whole rows, of every table, and embedding
// workers pool what they get from all PSs. A plan that keeps a table on one PS fits
// behind Of, because a sign names its feature group (batch.Signer). One that cuts
// rows into columns needs an owner for each column beside it, and one under which
// PSs pool needs to say so.
type Plan struct{ servers int }

// Rows returns the plan that spreads the rows of all tables evenly over a number of
// PSs. It panics unless there is at least one.
func Rows(servers int) Plan {
	if servers < 1 {
		panic(fmt.Sprintf("shard: %d PSs, want at least 1", servers))
	}
	return Plan{servers}
}

// Servers returns the number of PSs.
func (p Plan) Servers() int { return p.servers }

// Owner returns the PS that owns the row of a sign, from 0 to Servers()−1. Signs are mixed first, so that any
// distinct signs are spread evenly.
//
//	⌊ Mix(Mix(sign)+1) · Servers / 2⁶⁴ ⌋
//
// Deviation from PERSIA, which takes farmhash64(sign) modulo Servers: the upper
// half of a product instead of a remainder (Lemire, 2019), and another mixer.
func (p Plan) Owner(sign uint64) int {
	// Tables index by Mix(sign); mixing once more keeps the two independent.
	hi, _ := bits.Mul64(rng.Mix(rng.Mix(sign)+1), uint64(p.servers))
	return int(hi)
}
