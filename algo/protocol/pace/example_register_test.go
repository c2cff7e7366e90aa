package pace_test

import (
	"fmt"

	"tandem/algo/protocol/pace"
)

// cutoff is hybrid training that ignores row gradients which have missed more than limit updates of the row.
type cutoff struct {
	pace.Hybrid // all methods that cutoff does not define
	limit       int
}

func init() {
	pace.Register(pace.Mode{
		Name:     "cutoff",
		Overlaps: []string{"none", "ds"},
		Settings: []pace.Setting{{
			Name: "limit", Default: pace.Fixed(4), Min: pace.Fixed(0), Max: pace.Fixed(1000),
			Doc: "updates of a row that its gradient may miss",
		}},
		New: func(s pace.Settings) pace.Rule {
			return cutoff{pace.Hybrid{Staleness: s.Staleness, Overlap: pace.HybridOverlap(s.Overlap)},
				s.Values["limit"]}
		},
	})
}

// Name implements pace.Rule.
func (cutoff) Name() string { return "cutoff" }

// Weight implements pace.Weigher.
func (c cutoff) Weight(missed int) float32 {
	if missed > c.limit {
		return 0
	}
	return 1
}

// A program adds a mode of its own in an init function. Job files and flags then accept the mode and its
// settings.
func ExampleRegister() {
	rule, err := pace.New("cutoff", pace.Settings{Staleness: 9, Values: map[string]int{"limit": 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	weigher := rule.(pace.Weigher)
	for missed := range 4 {
		fmt.Println(missed, "updates missed: weight", weigher.Weight(missed))
	}
	_, err = pace.New("cutoff", pace.Settings{Values: map[string]int{"limit": -1}})
	fmt.Println(err)
	// Output:
	// 0 updates missed: weight 1
	// 1 updates missed: weight 1
	// 2 updates missed: weight 1
	// 3 updates missed: weight 0
	// pace: mode cutoff: limit = -1; want 0 to 1000
}
