package serving

import (
	"time"

	"tandem/algo/numeric/model"
	"tandem/experiments/internal/report"
)

// plan is everything that is fixed before the first request.
type plan struct {
	Seed    uint64        `yaml:"seed"`
	Rounds  int           `yaml:"rounds"`
	Time    time.Duration `yaml:"time"` // of a measurement
	Clients []int         `yaml:"clients"`
	Rows    []int         `yaml:"rows"` // of a request
	Models  []served      `yaml:"models"`
}

// served is a model that is served.
type served struct {
	report.DataSet `yaml:",inline"`
	Kind           string `yaml:"network"`
	Dim            int    `yaml:"embedding-dim"`
	Bottom         []int  `yaml:"bottom,omitempty"`
	Top            []int  `yaml:"top"`
}

// newPlan returns the plan of a run.
func newPlan(o report.Options) *plan {
	p := &plan{Seed: o.Seed, Rounds: 3, Time: 2 * time.Second, Clients: []int{1, 8, 64}, Rows: []int{1, 100},
		Models: []served{
			{DataSet: report.AdultIncome(), Kind: model.FeedForward, Dim: 8, Top: []int{64, 32}},
			{DataSet: report.Like("criteo", 40_000, 2_000), Kind: model.DLRM, Dim: 16,
				Bottom: []int{128, 64}, Top: []int{256, 128}},
		}}
	if o.Quick {
		p.Rounds, p.Time, p.Models = 1, time.Second, p.Models[:1]
	}
	return p
}

// way is how clients ask a server.
type way struct {
	name string
	peer bool
	grpc bool
	raw  bool // tensors as bytes
	args []string
}

// ways returns the ways that are compared. The first is compared with the peer.
func ways() []way {
	return []way{
		{name: "serve, JSON"},
		{name: "serve, JSON, each by itself", args: []string{"--batch-rows", "1"}},
		{name: "serve, bytes", raw: true},
		{name: "serve, gRPC", raw: true, grpc: true},
		{name: "onnxruntime, JSON", peer: true},
	}
}

// result is what was measured of a model, a way, a number of clients and a number of rows a request.
type result struct {
	Model   string `json:"model"`
	Way     string `json:"way"`
	Rows    int    `json:"rows"`
	Clients int    `json:"clients"`
	// By round.
	SamplesPerSecond []float64 `json:"samples_per_second"`
	P50              []float64 `json:"p50_ms"`
	P99              []float64 `json:"p99_ms"`
}
