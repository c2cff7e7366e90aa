package generators

import (
	"context"
	"fmt"
	"time"

	"tandem/algo/metric"
	"tandem/datasets/synth"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// results holds everything that was measured.
type results struct {
	// Oracle is the AUC of the probabilities that the labels of the test rows were drawn with.
	Oracle float64        `json:"oracle_auc"`
	Models []*modelResult `json:"models"`
}

// modelResult is the curve of a model.
type modelResult struct {
	Name      string  `json:"model"`
	Title     string  `json:"title"`
	Published float64 `json:"published_auc"`
	Tuned     bool    `json:"tuned"`
	Points    []point `json:"points"` // ascending; without the lengths that the budget left out
}

// point is a training.
type point struct {
	Steps   int     `json:"steps"`
	Rows    int     `json:"rows"`
	AUC     float64 `json:"auc"`
	LogLoss float64 `json:"log_loss"` // nats
	// Diverged is the reason why there is no outcome, or empty.
	Diverged string `json:"diverged,omitempty"`
}

// measure trains all models, the shortest runs first, until the budget is spent.
func (p *plan) measure(ctx context.Context, lab *trial.Lab) (*results, error) {
	r := &results{}
	for _, m := range p.Models {
		r.Models = append(r.Models, &modelResult{Name: m.Name, Title: m.Title, Published: m.Published,
			Tuned: m.Tuned})
	}
	begin := time.Now()
	lab.Expect(len(p.Steps) * len(p.Models))
	for _, steps := range p.Steps {
		if p.budget > 0 && time.Since(begin) > p.budget {
			break
		}
		var specs []trial.Spec
		for _, m := range p.Models {
			specs = append(specs, trial.Spec{Job: p.job(m, steps), Part: trial.Test,
				Name: fmt.Sprintf("%s, %s rows", m.Name, report.Thousands(steps*p.Batch))})
		}
		outcomes, err := lab.Run(ctx, specs)
		if err != nil {
			return nil, err
		}
		for i, outcome := range outcomes {
			r.Models[i].Points = append(r.Models[i].Points, point{Steps: steps, Rows: steps * p.Batch,
				AUC: outcome.AUC, LogLoss: outcome.LogLoss, Diverged: outcome.Diverged})
		}
	}
	var err error
	r.Oracle, err = p.oracle()
	return r, err
}

// oracle returns the AUC of the true probabilities of the test rows.
func (p *plan) oracle() (float64, error) {
	spec := p.Data
	spec.Seed, spec.TrainRows = p.Seed, 1
	data, err := synth.Generate(spec)
	if err != nil {
		return 0, err
	}
	scores := make([]float32, len(data.TestProbability))
	for i, v := range data.TestProbability {
		scores[i] = float32(v)
	}
	return metric.AUC(scores, data.Test.Labels), nil
}

// last returns the longest training that has an outcome, or false.
func (m *modelResult) last() (point, bool) {
	for i := len(m.Points) - 1; i >= 0; i-- {
		if m.Points[i].Diverged == "" {
			return m.Points[i], true
		}
	}
	return point{}, false
}

// isFull reports whether a length is that of Persia's run.
func (p *plan) isFull(at point) bool { return at.Steps == stepsMax && p.Batch == 4096 }
