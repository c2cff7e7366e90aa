package metric_test

import (
	"math"
	"testing"

	"tandem/algo/metric"
)

func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v ± %g", name, got, want, tolerance)
	}
}

func TestLogLoss(t *testing.T) {
	// 0.25 and 0.75 are exact in float32: −(ln 0.25 + ln(1−0.75))/2 = ln 4.
	near(t, "both wrong", metric.LogLoss([]float32{0.25, 0.75}, []float32{1, 0}), math.Log(4), 1e-15)
	near(t, "both right", metric.LogLoss([]float32{0.25, 0.75}, []float32{0, 1}), -math.Log(0.75), 1e-15)
	near(t, "certain and wrong", metric.LogLoss([]float32{0}, []float32{1}), 7*math.Ln10, 1e-12)
	near(t, "certain and wrong", metric.LogLoss([]float32{1}, []float32{0}), 7*math.Ln10, 1e-9)
	if got := metric.LogLoss(nil, nil); !math.IsNaN(got) {
		t.Errorf("without rows %v, want NaN", got)
	}
	if got := metric.LogLoss([]float32{float32(math.NaN())}, []float32{1}); !math.IsNaN(got) {
		t.Errorf("of NaN %v, want NaN", got)
	}
}

func TestCalibration(t *testing.T) {
	probabilities, labels := []float32{0.25, 0.25, 0.75, 0.75}, []float32{0, 1, 1, 1}
	// Predicted 2, observed 3.
	near(t, "calibration", metric.Calibration(probabilities, labels), 2.0/3, 1e-15)
	if got := metric.Calibration([]float32{0.5}, []float32{0}); !math.IsNaN(got) {
		t.Errorf("without positive rows %v, want NaN", got)
	}
	// Two bins of two rows: |0.25 − 0.5| and |0.75 − 1|, each half of the rows.
	near(t, "error over 2 bins", metric.ExpectedCalibrationError(probabilities, labels, 2), 0.25, 1e-15)
	// One bin of four rows: |0.5 − 0.75|.
	near(t, "error over 1 bin", metric.ExpectedCalibrationError(probabilities, labels, 1), 0.25, 1e-15)
	// Over- and underestimates cancel within a bin, not across bins.
	mixed := []float32{1, 0, 0, 1}
	near(t, "cancelling in 1 bin", metric.ExpectedCalibrationError(probabilities, mixed, 1), 0, 1e-15)
	near(t, "not in 2 bins", metric.ExpectedCalibrationError(probabilities, mixed, 2), 0.25, 1e-15)
	near(t, "the edge p = 1", metric.ExpectedCalibrationError([]float32{1}, []float32{1}, 10), 0, 0)
}

func TestLengthsMustMatch(t *testing.T) {
	two, three := make([]float32, 2), make([]float32, 3)
	for want, call := range map[string]func(){
		"metric: len(a) = 2, want 3": func() { metric.AUCDifference(two, three, three, 1, 1) },
		"metric: len(b) = 2, want 3": func() { metric.AUCDifference(three, two, three, 1, 1) },
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("AUCDifference: panic %v, want %s", got, want)
				}
			}()
			call()
		}()
	}
	for name, call := range map[string]func(){
		"AUC":         func() { metric.AUC(make([]float32, 2), make([]float32, 3)) },
		"LogLoss":     func() { metric.LogLoss(make([]float32, 2), make([]float32, 3)) },
		"Calibration": func() { metric.Calibration(make([]float32, 2), make([]float32, 3)) },
	} {
		func() {
			defer func() {
				if got := recover(); got != "metric: len(labels) = 3, want 2" {
					t.Errorf("%s: panic %v", name, got)
				}
			}()
			call()
		}()
	}
}
