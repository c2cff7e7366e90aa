package metrics

import (
	"math"

	"tandem/algo/exec/evaluation"
	"tandem/runtime/watch"
)

// AddTraining adds what is known of a training.
func AddTraining(to *Snapshot, n watch.Now, labels ...string) {
	to.Add(Steps, float64(n.StepsInAll), labels...)
	to.Add(StepsDone, float64(n.Steps), labels...)
	to.Add(SamplesDone, float64(n.Samples), labels...)
	to.Add(Elapsed, n.Seconds, labels...)
	to.Add(Speed, n.SamplesPerSecond, labels...)
	if !math.IsNaN(n.Loss) {
		to.Add(Loss, n.Loss, labels...)
	}
}

// AddEvaluation adds the latest evaluation of a training: RMSE and R² if one of them is not 0, else AUC and
// log loss. It adds nothing if the AUC is not a number.
func AddEvaluation(to *Snapshot, p evaluation.Point, labels ...string) {
	if math.IsNaN(p.AUC) {
		return
	}
	if p.RMSE != 0 || p.R2 != 0 {
		to.Add(RMSE, p.RMSE, labels...)
		to.Add(R2, p.R2, labels...)
	} else {
		to.Add(AUC, p.AUC, labels...)
		to.Add(LogLoss, p.LogLoss, labels...)
	}
	to.Add(Evaluation, float64(p.Step), labels...)
}
