package cluster

import (
	"math"
	"math/rand/v2"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
)

// generator draws one number of each of many streams.
type generator struct {
	source rand.PCG
	draws  *rand.Rand // of source
}

// kernelJitter returns the factor on the time of a rank's kernels for a piece of work: of the piece and of
// the device.
func (w *simulation) kernelJitter(k role.Work) float64 {
	return w.launchJitter(k) * w.factor(w.options.DeviceSpread, "sim/device", uint64(k.Rank))
}

// launchJitter returns the factor on the time of the launches for a piece of work.
func (w *simulation) launchJitter(k role.Work) float64 {
	sigma := w.options.Jitter
	if w.options.SystemJitter {
		sigma = float64(w.prices.System.NNWorker.Jitter.Mid)
	}
	return w.factor(sigma, "sim/jitter", uint64(k.Rank), uint64(k.Step), uint64(k.Kind))
}

// workJitter returns the factor on the time of a piece of work on a host.
func (w *simulation) workJitter(by int32, k role.Work) float64 {
	return w.factor(w.hostSigma(by), "sim/jitter/host", uint64(by), uint64(k.Rank), uint64(k.Step),
		uint64(k.Kind))
}

// messageJitter returns the factor on the times of a message, except for that of its transfer, which is that
// of the network.
func (w *simulation) messageJitter(from, to int32, m *msg.Message) float64 {
	return w.factor(w.hostSigma(from), "sim/jitter/message", uint64(from), uint64(to), uint64(m.Rank),
		uint64(m.Step), uint64(m.Kind))
}

// reduceJitter returns the factor on the closed-form times of the all-reduce of a bucket.
func (w *simulation) reduceJitter(step, bucket int32) float64 {
	return w.factor(w.hostSigma(w.roleIndex(msg.Address{Role: msg.NNWorker})), "sim/jitter/all-reduce",
		uint64(step), uint64(bucket))
}

// hostSigma returns the σ of what a role does on its host.
func (w *simulation) hostSigma(of int32) float64 {
	if w.options.SystemJitter {
		return w.places[of].service.Jitter
	}
	return w.options.HostJitter
}

// factor returns a lognormal factor of mean 1, the same for the same names of a stream.
func (w *simulation) factor(sigma float64, name string, of ...uint64) float64 {
	if sigma == 0 {
		return 1
	}
	rng.Reseed(&w.jitter.source, w.options.Seed, name, of...)
	return lognormal(sigma, w.jitter.draws.NormFloat64())
}

// lognormal returns the value of a lognormal variable of mean 1 for a standard normal one: exp(σz − σ²/2).
func lognormal(sigma, z float64) float64 { return math.Exp(float64(sigma*z) - float64(sigma*sigma)/2) }
