package metric_test

import (
	"fmt"

	"tandem/algo/metric"
	"tandem/algo/rng"
)

// A positive row scores above the negative rows in 5 of 6 pairs.
func ExampleAUC() {
	scores := []float32{0.1, 0.4, 0.35, 0.8, 0.2}
	labels := []float32{0, 0, 1, 1, 0}
	fmt.Printf("%.4f\n", metric.AUC(scores, labels))
	// Output: 0.8333
}

// Two models score the same test rows; the second one has more noise. The paired bootstrap tells whether the
// difference in AUC is more than the luck of these rows.
func ExampleAUCDifference() {
	random := rng.New(1, "example")
	var good, noisy, labels []float32
	for range 5000 {
		label := float32(random.IntN(2))
		score := label + float32(random.NormFloat64())
		labels = append(labels, label)
		good = append(good, score)
		noisy = append(noisy, score+float32(random.NormFloat64()))
	}
	difference := metric.AUCDifference(good, noisy, labels, 1000, 1)
	fmt.Printf("%.3f, 95 %% interval %.3f to %.3f\n", difference.Estimate, difference.Low, difference.High)
	fmt.Println(metric.Judge(difference, metric.EquivalenceMargin))
	// Output:
	// 0.074, 95 % interval 0.062 to 0.085
	// different
}

// Five seeds, each trained in two ways on the same rows: the interval of the mean difference over seeds.
func ExampleMeanInterval() {
	sync := []float64{0.7062, 0.7048, 0.7071, 0.7055, 0.7066}
	hybrid := []float64{0.7060, 0.7047, 0.7072, 0.7052, 0.7066}
	differences := make([]float64, len(sync))
	for i := range differences {
		differences[i] = hybrid[i] - sync[i]
	}
	d := metric.MeanInterval(differences)
	fmt.Printf("%.5f, 95 %% interval %.5f to %.5f\n", d.Estimate, d.Low, d.High)
	fmt.Println(metric.Judge(d, metric.EquivalenceMargin))
	// Output:
	// -0.00010, 95 % interval -0.00030 to 0.00010
	// equivalent
}
