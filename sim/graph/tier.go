package graph

import (
	"cmp"
	"fmt"
	"slices"

	"tandem/algo/unit"
	"tandem/sim/model"
)

// packedShare is the part of a memory that tables of unequal sizes fill: caches take the rest.
const packedShare = 0.8

// number is the index of a tier in arrays.
func (t Tier) number() int {
	switch t {
	case DDR:
		return 1
	case SSD:
		return 2
	}
	return 0
}

// chooseTiers gives each table the fastest memory that has room: the tables with the most ids a byte first. A
// table outside the accelerators' memories has a cache in them: all have the same share of their rows cached.
// Tables on SSDs have a cache in the hosts' memories too.
func (p *placer) chooseTiers() error {
	ranks := float64(p.net.ranks)
	var have [tiers]float64
	for tier := range tiers {
		have[tier] = ranks * p.room[tier]
	}
	total, free := 0.0, make([]*placed, 0, len(p.tables))
	var used, cached [tiers]float64
	for i := range p.tables {
		t := &p.tables[i]
		total += t.all()
		t.tier, t.cached, t.warm = t.rule.Tier, 1, 1
		if t.tier == "" {
			free = append(free, t)
			continue
		}
		used[t.tier.number()] += t.all()
	}
	slices.SortStableFunc(free, func(a, b *placed) int { return cmp.Compare(b.density(), a.density()) })
	unplaced := 0.0
	for _, t := range free {
		unplaced += t.all()
	}
	for _, t := range free {
		t.tier = SSD
		for _, tier := range []Tier{HBM, DDR} {
			n := tier.number()
			room := have[n]
			if used[n]+unplaced > room || used[DDR.number()]+used[SSD.number()] > 0 && tier == HBM {
				room *= packedShare // something below needs a cache
			}
			if used[n]+t.all() <= room {
				t.tier = tier
				break
			}
		}
		used[t.tier.number()] += t.all()
		unplaced -= t.all()
	}
	for n := range tiers {
		if used[n] > have[n] {
			return p.tooMuch(total, &used, &have)
		}
		for below := n + 1; below < tiers; below++ {
			cached[n] += used[below]
		}
	}
	for i := range p.tables {
		t := &p.tables[i]
		if t.tier != HBM {
			t.cached = min(1, cacheFill*(have[0]-used[0])/cached[0])
		}
		if t.warm = t.cached; t.tier == SSD {
			t.warm = min(1, t.cached+cacheFill*(have[1]-used[1])/cached[1])
		}
	}
	return nil
}

// cacheFill is the part of the room for caches that they take: tables are cut into unequal pieces.
const cacheFill = 0.9

// all returns the bytes of a table.
func (t *placed) all() float64 { return t.Rows * t.row }

// density returns the ids of a sample for each byte.
func (t *placed) density() float64 { return t.IDs / t.all() }

// bytes returns what a rank's rows take in each tier.
func (p *placer) bytes(t *placed, rows float64, dim int) (bytes [tiers]float64) {
	all := rows * t.row * float64(dim) / float64(t.Dim)
	switch t.tier {
	case HBM:
		bytes[0] = all
	case DDR:
		bytes[0], bytes[1] = all*t.cached, all
	case SSD:
		bytes[0], bytes[1], bytes[2] = all*t.cached, all*(t.warm-t.cached), all
	}
	return bytes
}

// tooMuch explains why the tables do not fit.
func (p *placer) tooMuch(total float64, used, have *[tiers]float64) error {
	rows, state := 0.0, 0.0
	for _, t := range p.tables {
		rows += t.Rows * float64(t.Dim) * float64(p.precisions.Rows.Bytes())
		state += t.Rows * float64(p.optimizer.State(t.Dim))
	}
	remedies := "use more GPUs"
	if p.precisions.Rows.Bytes() > model.Float16.Bytes() {
		remedies += ", or rows of fp16"
	}
	if state > 0 {
		remedies += ", or an optimizer with less state"
	}
	return fmt.Errorf("graph: tables take %v: rows of %s %v, state of %s %v; placed %v, %v and %v in "+
		"accelerators, hosts and SSDs, where %d ranks have %v, %v and %v for them: %w; %s",
		unit.Bytes(total), p.precisions.Rows, unit.Bytes(rows), p.optimizer, unit.Bytes(state),
		unit.Bytes(used[0]), unit.Bytes(used[1]), unit.Bytes(used[2]), p.net.ranks, unit.Bytes(have[0]),
		unit.Bytes(have[1]), unit.Bytes(have[2]), ErrMemory, remedies)
}
