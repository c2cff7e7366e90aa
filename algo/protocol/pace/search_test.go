package pace_test

import (
	"flag"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/protocol/search"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

var long = flag.Bool("long", false, "search larger settings")

// searched returns the search of a small cluster with a rule.
func searched(rule pace.Rule, ranks, steps int32) search.Setting {
	set := search.Setting{Config: role.Config{
		Ranks: ranks, EmbeddingWorkers: 1, EmbeddingPSs: 1, Steps: steps, Rule: rule,
		Prefetch: 4, EdgeWindow: 4,
		Buckets: []unit.Bytes{8},
	}}
	if rule.Dense().DensePSs {
		set.Config.DensePSs = []unit.Bytes{8}
	}
	return set
}

// explore searches every order of events. It fails if an invariant or a bound of the rule is broken, and
// returns the largest staleness.
func explore(t *testing.T, set search.Setting) search.Seen {
	t.Helper()
	r, err := search.Explore(set, 4_000_000)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	return r.Seen
}

// walk takes random walks through random clusters of a rule, with faults, and fails if the staleness that the
// meter measures is above a bound.
func walk(t *testing.T, draw func(t *rapid.T, ranks int) pace.Rule) {
	rapid.Check(t, func(t *rapid.T) {
		count := func(name string, most int32) int32 { return rapid.Int32Range(1, most).Draw(t, name) }
		ranks := count("ranks", 4)
		rule := draw(t, int(ranks))
		cfg := role.Config{
			Ranks: ranks, EmbeddingWorkers: count("EWs", 3), EmbeddingPSs: count("PSs", 3),
			Steps: count("steps", 8), Rule: rule, Prefetch: count("prefetch", 6),
			EdgeWindow: count("window", 3),
			Buckets:    make([]unit.Bytes, count("buckets", 2)),
		}
		if rule.Dense().DensePSs {
			cfg.DensePSs = make([]unit.Bytes, count("dense PSs", 2))
		}
		faults := rapid.IntRange(0, 6).Draw(t, "faults")
		if faults > 0 {
			cfg.Retry = unit.Second
		}
		meter := pace.NewMeter(int(cfg.Ranks), int(cfg.EmbeddingPSs))
		seed := rapid.Uint64().Draw(t, "seed")
		_, err := search.Walk(search.Setting{
			Config: cfg, Faults: faults, EarlyTimers: faults > 0, Roles: tapped(meter),
			Touches: func(rank, step, shard int32) bool {
				return rng.Unit(rng.Key(seed, "touch", uint64(rank), uint64(step)), int(shard)) < 0.6
			},
		}, rng.New(seed, "walk"))
		if err != nil {
			t.Fatal(err)
		}
		s := meter.Staleness()
		if err := pace.CheckBounds(rule, int(cfg.Ranks), &s); err != nil {
			t.Fatal(err)
		}
	})
}

// drawOverlap draws one of the values of an overlap.
func drawOverlap[T any](t *rapid.T, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, "overlap")
}
