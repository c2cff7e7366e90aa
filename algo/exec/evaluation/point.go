package evaluation

import (
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// Point is one evaluation, during training or after it: a point of a learning curve.
type Point struct {
	Step    int `json:"step"`    // steps trained
	Samples int `json:"samples"` // trained on in these steps
	// Seconds since training began, real or simulated.
	Seconds float64 `json:"seconds"`
	Scores
}

// Scores say how good predictions of a label are: AUC and log loss of probabilities, or RMSE and R² of
// numbers that a network with squared loss predicts.
type Scores struct {
	AUC     float64 `json:"auc,omitempty"`
	LogLoss float64 `json:"log_loss,omitempty"` // nats
	RMSE    float64 `json:"rmse,omitempty"`
	R2      float64 `json:"r2,omitempty"`
}

// ScoreNames returns the names of Score and Loss for a model.Spec's loss.
func ScoreNames(loss string) (ofScore, ofLoss string) {
	if loss == model.SquaredLoss {
		return "R²", "RMSE"
	}
	return "AUC", "log loss"
}

// Score returns what is largest of the best predictions: the AUC, or R².
func (s Scores) Score() float64 { return s.AUC + s.R2 } // one of them is 0

// Loss returns what is least of the best predictions: the log loss, or the RMSE.
func (s Scores) Loss() float64 { return s.LogLoss + s.RMSE } // one of them is 0

// NewScores returns the scores of the predictions of a label of test rows, 0 for the first, by a network with
// a model.Spec's loss.
func NewScores(loss string, predictions []float32, test *batch.Batch, label int) Scores {
	labels := len(test.Labels) / test.Samples
	predicted, truth := batch.Column(predictions, labels, label), batch.Column(test.Labels, labels, label)
	if loss == model.SquaredLoss {
		return Scores{RMSE: metric.RMSE(predicted, truth, test.Weights),
			R2: metric.RSquared(predicted, truth, test.Weights)}
	}
	return Scores{AUC: metric.WeightedAUC(predicted, truth, test.Weights),
		LogLoss: metric.WeightedLogLoss(predicted, truth, test.Weights)}
}
