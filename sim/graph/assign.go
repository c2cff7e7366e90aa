package graph

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"tandem/algo/unit"
)

// search returns layouts of all tables that are good by the present estimates. A table has no layout coarser
// than a limit on the time of a rank, if it can be cut so far, and the tables that cost least as replicas are
// replicas. It tries limits and numbers of replicas in turn, as planners do that halve the hottest tables
// (HugeCTR), and one layout for all others (TorchRec).
func (a *assignment) search() (choices []int, err error) {
	most, least := 0.0, math.Inf(1)
	var replicas []int // tables that may be replicas, the cheapest first
	for i := range a.tables {
		o := a.tables[i].options
		if len(o) > 1 && o[0].layout == DataParallel {
			replicas = append(replicas, i)
		}
		for j := range o {
			most, least = max(most, o[j].seconds), min(least, o[j].seconds)
		}
	}
	seconds := func(table int) float64 { return a.tables[table].options[0].seconds }
	slices.SortStableFunc(replicas, func(x, y int) int { return cmp.Compare(seconds(x), seconds(y)) })
	a.order = make([]int, len(a.tables))
	for i, table := range replicas {
		a.order[table] = i
	}
	s := start{limit: most}
	best, choices, err := a.try(s)
	if err != nil {
		return nil, err
	}
	for range startRounds {
		before := best
		at := s
		consider := func(x start) {
			if score, c, err := a.try(x); err == nil && score < best {
				best, choices, at = score, c, x
			}
		}
		for limit := most; limit > max(least/2, most/limitsRange); limit /= 2 {
			consider(start{limit: limit, replicas: s.replicas})
		}
		for _, layout := range []Layout{TableWise, ColumnWise, ServerRowWise, Grid, RowWise} {
			consider(start{layout: layout, replicas: s.replicas})
		}
		s = at
		for n := 0; n <= len(replicas); n += 1 + n/2 {
			consider(start{s.limit, s.layout, n})
		}
		if s = at; best == before {
			break
		}
	}
	return slices.Clone(choices), nil // the other is remembered
}

// startRounds is the largest number of rounds in which search varies first the limit, then the replicas.
const startRounds = 2

// limitsRange is how many times the largest limit is larger than the smallest, so that even a table with
// almost all of the work is cut for as many ranks.
const limitsRange = 4096

// start is where an improvement of a placement can begin.
type start struct {
	limit    float64 // seconds of a rank; of tables without the layout 0
	layout   Layout  // of all tables that can have it, cut into the most parts; empty: by limit
	replicas int     // number of tables
}

// tried is what a start leads to by some estimates.
type tried struct {
	choices []int
	seconds float64 // of the score, and how many times what collectives take once it has
	times   float64
	err     error
}

// try assigns the tables as a start says, unless the present estimates have done so. It returns the score and
// the choices.
func (a *assignment) try(s start) (score float64, choices []int, err error) {
	x, known := a.tried[s]
	if !known {
		x = a.settle(a.choicesOf(s))
		a.tried[s] = x
	}
	return x.seconds + a.once*x.times, x.choices, x.err
}

// choicesOf returns the layouts that a start says.
func (a *assignment) choicesOf(s start) []int {
	choices := make([]int, len(a.tables))
	for i := range a.tables {
		o := a.tables[i].options
		at := 0
		if len(o) > 1 && o[0].layout == DataParallel {
			if a.order[i] < s.replicas {
				continue
			}
			at = 1
			choices[i] = 1
		}
		for choices[i] = at; at < len(o) && o[choices[i]].seconds > s.limit; at++ {
			if o[at].seconds < o[choices[i]].seconds {
				choices[i] = at
			}
		}
		for at := range o {
			if s.layout != "" && o[at].layout == s.layout {
				choices[i] = at
			}
		}
	}
	return choices
}

// settle assigns the tables as chosen. Tables for which no rank has room are cut further.
func (a *assignment) settle(choices []int) tried {
	for {
		if err := a.cutReplicas(choices); err != nil {
			return tried{err: err}
		}
		x := a.outcomeOf(choices)
		if x.full == "" {
			return tried{choices: choices, seconds: x.seconds, times: x.times}
		}
		next := slices.Clone(choices)
		for table := range next {
			next[table] += int(x.full[table/8] >> (table % 8) & 1)
			if next[table] == len(a.tables[table].options) {
				return tried{err: a.noRoomForFirst(choices)}
			}
		}
		choices = next
	}
}

// noRoomForFirst explains why there is no room for the first of the tables that cannot be cut further.
func (a *assignment) noRoomForFirst(choices []int) error {
	for _, table := range a.assign(choices) {
		if options := a.tables[table].options; choices[table]+1 == len(options) {
			return a.noRoom(&a.tables[table], &options[choices[table]])
		}
	}
	panic("graph: tables that can all be cut further were not")
}

// outcome is what assigning some choices leads to by some estimates: tables without room, or the scores.
type outcome struct {
	full           string // bits, by table; empty: all have room
	seconds, times float64
}

// outcomeOf returns the outcome of choices. Many starts lead to the same choices, above all where tables are
// alike, and where there is little room.
func (a *assignment) outcomeOf(choices []int) outcome {
	a.key = a.key[:0]
	for _, option := range choices {
		a.key = append(a.key, byte(option)) // a table has some tens of options at most
	}
	x, known := a.outcomes[string(a.key)]
	if !known {
		if full := a.assign(choices); len(full) == 0 {
			x.seconds, x.times = a.scores()
		} else {
			set := make([]byte, (len(choices)+7)/8)
			for _, table := range full {
				set[table/8] |= 1 << (table % 8)
			}
			x.full = string(set)
		}
		a.outcomes[string(a.key)] = x
	}
	return x
}

// cutReplicas gives the tables of which all ranks have a part, in their order, the next layout for which all
// ranks have room beside those before. It is what assign would ask for, one table after the other.
func (a *assignment) cutReplicas(choices []int) error {
	a.base = rankLoad{}
	for i := range a.tables {
		options := a.tables[i].options
		for before := a.base; options[choices[i]].ranks == a.net.ranks; choices[i]++ {
			if a.base.take(&options[choices[i]]); a.base.fits(&option{}, &rankLoad{}, &a.room) {
				break
			}
			if choices[i]+1 == len(options) {
				return a.noRoom(&a.tables[i], &options[choices[i]])
			}
			a.base = before
		}
	}
	return nil
}

// improve makes, step by step, the layout change that saves the most time: of a table that takes the most of
// some kind of work on the rank that has the most of it.
func (a *assignment) improve(choices []int) {
	a.assign(choices)
	best := a.score()
	for range changesMax {
		table, layout := -1, 0
		for _, candidate := range a.heaviest() {
			kept := choices[candidate]
			for option := range a.tables[candidate].options {
				choices[candidate] = option
				if option == kept || len(a.assign(choices)) > 0 {
					continue
				}
				if score := a.score(); score < best*(1-gainMin) {
					best, table, layout = score, candidate, option
				}
			}
			choices[candidate] = kept
		}
		if table >= 0 {
			choices[table] = layout
		}
		a.assign(choices)
		if table < 0 {
			break
		}
	}
}

// changesMax is the largest number of layout changes after the start.
//
// Source: NVIDIA-Merlin/HugeCTR, samples/dlrm: its planner halves the hottest table at most 20 times
// (v25.03).
const changesMax = 20

// gainMin is the part of the score that another layout must save.
const gainMin = 1e-4

// Kinds of work of which a step awaits the rank that has the most. The distribution of ids is for the next
// step, and overlaps with all of this one; TorchRec's planner does not count it either.
const (
	onTables   = iota // kernels, and rows from lower tiers
	ofRows            // all-to-all of pooled rows and their gradients
	inServers         // partial sums among the ranks of a server
	amongRanks        // … among all ranks
	ofReplicas        // gradients of replicas
	kinds
)

// times are seconds of each kind of work.
type times [kinds]float64

func (t *times) add(o *times) {
	for k := range kinds {
		t[k] += o[k]
	}
}

func (t *times) sum() (sum float64) {
	for _, x := range t {
		sum += x
	}
	return sum
}

// assignment is a placement in the making, by estimates. Its memory serves one choice of layouts after the
// other.
type assignment struct {
	*placer
	once     float64 // the time of each kind of collective that any rank has, beside that of its bytes
	order    []int   // by table: its place among the tables that may be replicas
	tried    map[start]tried
	outcomes map[string]outcome // by choices
	key      []byte             // a buffer
	sequence []turn             // in the order of placement
	turns    [][]int            // by table and option: the place in sequence
	chosen   []uint64           // bits, by place in sequence
	pieces   []piece
	last     lastAssignment
	full     []int      // tables without room
	base     rankLoad   // what all ranks have
	loads    []rankLoad // what ranks have besides; those that are not listed have nothing
	seconds  []float64  // of loads
}

// lastAssignment is what the last call of assign leaves to the next, which often differs from it in a few
// tables: where these are not among the first in the order of placement, the others are where they were.
type lastAssignment struct {
	chosen []uint64
	base   rankLoad
	marks  []mark // in the order of placement
}

// mark is what ranks had before the tables of a word of assignment.chosen and later ones were placed.
type mark struct {
	pieces  int
	loads   []rankLoad
	seconds []float64
}

// markWords is the number of words from one mark to the next.
const markWords = 4

// resume restores what ranks had before the first table that another layout is chosen for than in the last
// call of assign, as far as there is a mark. It returns the word of chosen to continue with.
func (a *assignment) resume(ranks int) (word int) {
	l := &a.last
	same := 0                                      // marks before which nothing differs
	if a.base == l.base && len(a.loads) == ranks { // tables that rules place depend on the base
		for same < len(l.marks) && slices.Equal(l.chosen[:same*markWords], a.chosen[:same*markWords]) {
			same++
		}
	}
	l.base, l.chosen = a.base, append(l.chosen[:0], a.chosen...)
	if l.marks = l.marks[:same]; same == 0 {
		a.pieces = a.pieces[:0]
		a.loads = slices.Grow(a.loads[:0], ranks)[:ranks]
		a.seconds = slices.Grow(a.seconds[:0], ranks)[:ranks]
		clear(a.loads)
		clear(a.seconds)
		return 0
	}
	m := &l.marks[same-1]
	a.pieces = a.pieces[:m.pieces]
	copy(a.loads, m.loads)
	copy(a.seconds, m.seconds)
	return (same - 1) * markWords
}

// mark notes what ranks have before a word of chosen.
func (a *assignment) mark(word int) {
	l := &a.last
	if word%markWords > 0 || word/markWords != len(l.marks) {
		return
	}
	if len(l.marks) < cap(l.marks) {
		l.marks = l.marks[:len(l.marks)+1]
	} else {
		l.marks = append(l.marks, mark{})
	}
	m := &l.marks[len(l.marks)-1]
	m.pieces, m.loads, m.seconds = len(a.pieces), append(m.loads[:0], a.loads...),
		append(m.seconds[:0], a.seconds...)
}

// assign places the tables as chosen. It returns the tables for which no rank has room.
func (a *assignment) assign(choices []int) (full []int) {
	a.base, a.full = rankLoad{}, a.full[:0]
	clear(a.chosen)
	used, last := 0, -1 // the last rank that a rule names
	for i := range a.tables {
		o := &a.tables[i].options[choices[i]]
		for _, rank := range a.tables[i].rule.Ranks {
			last = max(last, rank+o.ranks-1)
		}
		at := a.turns[i][choices[i]]
		a.chosen[at/64] |= 1 << (at % 64)
		if o.ranks < a.net.ranks {
			used += o.ranks * o.parts
		} else if a.base.take(o); !a.base.fits(&option{}, &rankLoad{}, &a.room) {
			a.full = append(a.full, i)
			return a.full
		}
	}
	// Ranks without a piece are all alike: a server more than could be used stands for them.
	ranks := max(min(a.net.ranks, used+a.net.perServer), last+1)
	for word := a.resume(ranks); word < len(a.chosen); word++ {
		if len(a.full) == 0 { // else a call that resumes here would not know them
			a.mark(word)
		}
		for set := a.chosen[word]; set != 0; set &= set - 1 {
			if x := a.sequence[64*word+bits.TrailingZeros64(set)].piece; !a.assignTable(x) {
				a.full = append(a.full, x.table)
			}
		}
	}
	return a.full
}

// assignTable places the parts of a table and reports whether they have room.
func (a *assignment) assignTable(x piece) bool {
	for x.part = range x.parts {
		if x.ranks < a.net.ranks {
			if x.rank = a.rankFor(&x); x.rank < 0 {
				return false
			}
			for r := x.rank; r < x.rank+x.ranks; r++ {
				a.loads[r].take(x.option)
				a.seconds[r] += x.seconds
			}
		}
		a.pieces = append(a.pieces, x)
	}
	return true
}

// free returns 0 for a table whose rule names ranks, which is placed first, and else 1.
func (a *assignment) free(x piece) int {
	if len(a.tables[x.table].rule.Ranks) > 0 {
		return 0
	}
	return 1
}

// rankFor returns the first rank for a part of a table: that of its rule, if it has room, or the least loaded
// one; −1 if there is none.
func (a *assignment) rankFor(x *piece) int {
	named := a.tables[x.table].rule.Ranks
	if len(named) == 0 {
		return a.leastLoaded(x.option)
	}
	if rank := named[x.part]; a.loads[rank].fits(x.option, &a.base, &a.room) {
		return rank
	}
	return -1
}

// leastLoaded returns the first of the ranks, neighbours in one server, that have the least work and room for
// a part of a table beside what all ranks have, or −1.
func (a *assignment) leastLoaded(o *option) (at int) {
	at = -1
	least := math.Inf(1)
	if o.ranks == 1 {
		for r, s := range a.seconds {
			if s < least && a.loads[r].fits(o, &a.base, &a.room) {
				at, least = r, s
			}
		}
		return at
	}
	for r := 0; r+o.ranks <= len(a.seconds); r += o.ranks {
		if s := a.seconds[r]; s < least && a.loads[r].fits(o, &a.base, &a.room) {
			at, least = r, s
		}
	}
	return at
}

// score returns what an assignment is judged by.
func (a *assignment) score() float64 {
	seconds, times := a.scores()
	return seconds + a.once*times
}

// scores returns the sum over the kinds of work of about the largest time of any rank, and how many times it
// takes what a collective takes once: as often as there are kinds of collectives, and a tenth of it for each
// layout, for the launches of a lookup and an update.
func (a *assignment) scores() (seconds, times float64) {
	seen, last := make([]Layout, 0, 8), Layout("")
	for i := range a.pieces {
		layout := a.pieces[i].layout
		if layout == last { // as most are
			continue
		}
		if last = layout; !slices.Contains(seen, layout) {
			seen = append(seen, layout)
			times += 1. / 10
		}
	}
	for k := range kinds {
		powers := float64(a.net.ranks-len(a.loads)) * power32(a.base.times[k])
		for r := range a.loads {
			powers += power32(a.base.times[k] + a.loads[r].times[k])
		}
		if powers > 0 {
			seconds += math.Pow(powers, 1./32)
			if k != onTables {
				times++
			}
		}
	}
	return seconds, times
}

// heaviest returns the tables that take the most of each kind of work on the rank that has the most of it.
func (a *assignment) heaviest() (tables []int) {
	for k := range kinds {
		hottest := 0
		for r := range a.loads {
			if a.loads[r].times[k] > a.loads[hottest].times[k] {
				hottest = r
			}
		}
		table, most := -1, 0.0
		for _, x := range a.pieces {
			if x.rank <= hottest && hottest < x.rank+x.ranks && x.times[k] > most {
				table, most = x.table, x.times[k]
			}
		}
		if table >= 0 && !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return tables
}

// plan returns a placement with the work of the busiest ranks.
func (p *placer) plan(pieces []piece) *plan {
	out := &plan{pieces: slices.Clone(pieces)}
	works, seconds := make([]load, p.net.ranks), make([]float64, p.net.ranks)
	bytes := make([][tiers]float64, p.net.ranks)
	var base load
	var baseBytes [tiers]float64
	all := 0.0
	for _, x := range pieces {
		out.mean += x.seconds * float64(x.ranks) / float64(p.net.ranks)
		if x.ranks == p.net.ranks {
			base.add(&x.load)
			all += x.seconds
			for tier := range tiers {
				baseBytes[tier] += x.bytes[tier]
			}
			continue
		}
		for r := x.rank; r < x.rank+x.ranks; r++ {
			works[r].add(&x.load)
			seconds[r] += x.seconds
			for tier := range tiers {
				bytes[r][tier] += x.bytes[tier]
			}
		}
	}
	for r := range works {
		out.most.most(&works[r])
		out.peak = max(out.peak, all+seconds[r])
		for tier := range tiers {
			out.bytes[tier] = max(out.bytes[tier], baseBytes[tier]+bytes[r][tier])
		}
	}
	out.most.add(&base)
	return out
}

// power32 returns x to the power of 32. The root of the sum of such powers of the ranks' times is nearly the
// largest of them, and also falls if one of several equal ones does.
func power32(x float64) float64 {
	for range 5 {
		x *= x
	}
	return x
}

// rankLoad is what a rank has.
type rankLoad struct {
	times times
	bytes [tiers]float64
}

func (l *rankLoad) fits(o *option, base *rankLoad, room *[tiers]float64) bool {
	for tier := range tiers {
		if base.bytes[tier]+l.bytes[tier]+o.bytes[tier] > room[tier] {
			return false
		}
	}
	return true
}

func (l *rankLoad) take(o *option) {
	l.times.add(&o.times)
	for tier := range tiers {
		l.bytes[tier] += o.bytes[tier]
	}
}

// noRoom explains why a part of a table fits on no rank, or not on that of its rule.
func (a *assignment) noRoom(t *placed, o *option) error {
	p := a.placer
	for _, rank := range t.rule.Ranks {
		if o.ranks == a.net.ranks {
			break // it is in the base, beside which no rank has anything yet
		}
		if a.loads[rank].fits(o, &a.base, &a.room) {
			continue
		}
		have := a.loads[rank].bytes[0] + a.base.bytes[0]
		return fmt.Errorf("graph: table %s by %s: %v rows of %v take %v of accelerator %d, which has %v for "+
			"tables and holds %v of others already: %w; name another rank, or cut the table", t.Name,
			o.layout, o.rows, unit.Bytes(t.row), unit.Bytes(o.bytes[0]), rank, unit.Bytes(p.room[0]),
			unit.Bytes(have), ErrMemory)
	}
	return fmt.Errorf("graph: table %s by %s: %v rows of %v take %v of accelerators, %v of hosts and %v of "+
		"SSDs "+
		"on each of %d ranks, which have %v, %v and %v for this and other tables: %w; use more GPUs, "+
		"narrower "+
		"rows, or another layout",
		t.Name, o.layout, o.rows, unit.Bytes(t.row), unit.Bytes(o.bytes[0]), unit.Bytes(o.bytes[1]),
		unit.Bytes(o.bytes[2]), o.ranks*o.parts, unit.Bytes(p.room[0]), unit.Bytes(p.room[1]),
		unit.Bytes(p.room[2]), ErrMemory)
}

// layouts returns the number of different layouts of a plan.
func (out *plan) layouts() int {
	seen := map[Layout]bool{}
	for _, x := range out.pieces {
		seen[x.layout] = true
	}
	return len(seen)
}

// shards describes the pieces of a plan.
func (p *placer) shards(out *plan) []Shard {
	shards := make([]Shard, len(out.pieces))
	for i, x := range out.pieces {
		t := &p.tables[x.table]
		shards[i] = Shard{Table: t.Name, Layout: x.layout, Part: x.part, Rank: x.rank, Ranks: x.ranks,
			Rows: x.rows, Dim: x.dim, Tier: t.tier, Cached: t.cached, Bytes: unit.Bytes(x.bytes[0]),
			Seconds: x.seconds}
	}
	return shards
}
