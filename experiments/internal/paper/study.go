package paper

import (
	"context"

	"tandem/experiments/internal/report"
)

// Study returns an experiment that predicts a plan, computes more of the predictions, and draws a report of
// the plan and what was computed.
func Study[D any](e report.Experiment, plan func(report.Options) *Plan, compute func(*Predictions) D,
	draw func(*Plan, D) *report.Report,
) *report.Experiment {
	return report.Study(e, func(o report.Options) (*Plan, error) { return plan(o), nil },
		func(p *Plan, ctx context.Context, o report.Options) (d D, err error) {
			r, err := p.Measure(ctx, o)
			if err != nil {
				return d, err
			}
			return compute(r), nil
		}, draw)
}
