package search_test

import (
	"fmt"

	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/protocol/search"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

func cluster(rule pace.Rule, steps int32) role.Config {
	return role.Config{
		Ranks: 2, EmbeddingWorkers: 1, EmbeddingPSs: 1, Steps: steps, Rule: rule, Prefetch: 2, EdgeWindow: 2,
		Buckets: []unit.Bytes{8},
	}
}

// Explore tries every order of events of two ranks and reports the largest staleness of all.
func ExampleExplore() {
	rule := pace.Hybrid{Staleness: 1, Overlap: pace.HybridNaive}
	report, err := search.Explore(search.Setting{Config: cluster(rule, 4), Eager: true}, 1_000_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("own %d, cross %d, inflight %d\n", report.Seen.Own, report.Seen.Cross, report.Seen.Inflight)
	fmt.Printf("%+v\n", rule.Bounds(2))
	// Output:
	// own 1, cross 3, inflight 3
	// {Own:1 Cross:3 Inflight:3 Dense:0}
}

// reckless is a rule with a bug: it lets a rank read ahead without limit, but promises the bounds of Hybrid.
type reckless struct{ pace.Hybrid }

func (reckless) MayIssue(int) bool { return true }

// The error for a broken invariant contains a shortest history.
func ExampleExplore_brokenInvariant() {
	rule := reckless{pace.Hybrid{Overlap: pace.HybridNaive}}
	cfg := cluster(rule, 2)
	cfg.Ranks = 1
	_, err := search.Explore(search.Setting{Config: cfg, Eager: true}, 1_000_000)
	fmt.Println(err)
	// Output:
	// search: read of rank 0 step 0 on PS 0 is too stale: own 0, cross 0, inflight 1; promised 0, 0, 0, after
	//   1. data-loader 0: read rank -1 step 0 done
	//   2. IDFeatures rank 0 step 0, data-loader 0 → embedding-worker 0
	//   3. Samples rank 0 step 0, data-loader 0 → nn-worker 0
	//   4. SamplesAck rank 0 step 0, nn-worker 0 → data-loader 0
	//   5. GetEmbeddings rank 0 step 0, nn-worker 0 → embedding-worker 0
	//   6. data-loader 0: read rank -1 step 1 done
	//   7. IDFeatures rank 0 step 1, data-loader 0 → embedding-worker 0
	//   8. Samples rank 0 step 1, data-loader 0 → nn-worker 0
	//   9. SamplesAck rank 0 step 1, nn-worker 0 → data-loader 0
	//   10. GetEmbeddings rank 0 step 1, nn-worker 0 → embedding-worker 0
	//   11. embedding-worker 0: split rank 0 step 0 done
	//   12. embedding-worker 0: split rank 0 step 1 done
	//   13. Lookup rank 0 step 0, embedding-worker 0 → embedding-ps 0
}

// Walk takes a random path through a larger cluster, here with three faults.
func ExampleWalk() {
	cfg := cluster(pace.Sync{Overlap: pace.OverlapIDs}, 20)
	cfg.Retry = unit.Second
	_, err := search.Walk(search.Setting{Config: cfg, Faults: 3}, rng.New(1, "walk"))
	fmt.Println("error:", err)
	// Output: error: <nil>
}
