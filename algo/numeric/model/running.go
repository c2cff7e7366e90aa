package model

// FoldMoments moves the running statistics of one layer, which has width
// features from the place at on, as PyTorch does: r = 0.9·r + 0.1·s for mean and
// unbiased variance, once for all groups of a step, for any number of groups. Stats
// has size values for each group. The statistics of the step's samples follow from
// those of the groups by
//
//	n = Σ n_g    mean = Σ n_g·mean_g / n
//	variance = Σ [(n_g − 1)·variance_g + n_g·(mean_g − mean)²] / (n − 1)
//
// A step of fewer than two samples has no variance and is skipped.
//
// Source: Chan, Golub, LeVeque, The American Statistician 37 (1983).
func FoldMoments(running, stats []float32, size, at, width int) {
	samples := 0.0
	for group := 0; group < len(stats); group += size {
		samples += float64(stats[group])
	}
	if samples < 2 {
		return
	}
	for j := at; j < at+width; j++ {
		mean, variance := pooledMoments(stats, size, samples, j, width+j)
		fold(&running[j], mean)
		fold(&running[width+j], variance)
	}
}

// pooledMoments returns mean and unbiased variance of one feature over the
// samples of all groups; the feature's are at the places mean and variance of
// each group's running-shaped statistics.
func pooledMoments(stats []float32, size int, samples float64, meanAt, varianceAt int) (
	mean, variance float64,
) {
	for at := 0; at < len(stats); at += size {
		mean += float64(stats[at]) * float64(stats[at+1+meanAt])
	}
	mean /= samples
	for at := 0; at < len(stats); at += size {
		n := float64(stats[at])
		if n >= 2 {
			variance += (n - 1) * float64(stats[at+1+varianceAt])
		}
		if n >= 1 {
			off := float64(stats[at+1+meanAt]) - mean
			variance += float64(n*off) * off
		}
	}
	return mean, variance / (samples - 1)
}

// fold moves a running statistic towards that of a step.
func fold(running *float32, now float64) {
	*running = float32(float64((1-normMomentum)*float64(*running)) + float64(normMomentum*now))
}
