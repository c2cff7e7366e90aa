package role_test

import (
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// A loader looks only at the ranks that an input concerns, and a PS only at the requests that the input may
// have made ready. That is enough: in every mode and every order of events, nothing is left that it could do.
func TestNothingIsOmitted(t *testing.T) {
	for _, mode := range pace.Modes() {
		t.Run(mode, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := smallConfig()
				cfg.Ranks, cfg.Steps = 3, 4
				rule, err := pace.New(mode, pace.Settings{Staleness: 1, Ranks: 3})
				if err != nil {
					t.Fatal(err)
				}
				if cfg.Rule = rule; rule.Dense().DensePSs {
					cfg.DensePSs = []unit.Bytes{100, 100}
				}
				c := newCluster(cfg)
				c.silent = true
				for _, r := range c.roles {
					c.step(r.Address(), role.Input{Kind: role.Start}, "start")
				}
				random := rng.New(rapid.Uint64().Draw(t, "seed"), "omitted")
				drain := rapid.IntRange(0, 200).Draw(t, "drain")
				for i := 0; c.happen(random); i++ {
					if i == drain {
						c.step(msg.Address{Role: msg.DataLoader}, role.Input{Kind: role.Drain}, "drain")
					}
					for _, at := range c.changed { // what others could do does not change
						if left := role.Omitted(c.find(at), c.now); len(left) > 0 {
							t.Fatalf("%v could have: %s", at, describe(left[0]))
						}
					}
					c.changed = c.changed[:0]
				}
			})
		})
	}
}
