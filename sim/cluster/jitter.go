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
	return w.launchFactor(w.memberOfWork(k.Rank, k.Step, k.Kind), k.Step, k.Kind)
}

// launchFactor is launchJitter for one of the job's ranks.
func (w *simulation) launchFactor(rank, step int32, kind role.WorkKind) float64 {
	sigma := w.options.Jitter
	if w.options.SystemJitter {
		sigma = float64(w.prices.System.NNWorker.Jitter.Mid)
	}
	return w.factor(sigma, "sim/jitter", uint64(rank), uint64(step), uint64(kind))
}

// workJitter returns the factor on the time of a piece of work on a host.
func (w *simulation) workJitter(by int32, k role.Work) float64 {
	return w.workFactor(by, w.memberOfWork(k.Rank, k.Step, k.Kind), k.Step, k.Kind)
}

// workFactor is workJitter for one of the job's ranks.
func (w *simulation) workFactor(by, rank, step int32, kind role.WorkKind) float64 {
	return w.factor(w.hostSigma(by), "sim/jitter/host", uint64(w.fold.roleOf(w, by, rank, step)),
		uint64(rank), uint64(step), uint64(kind))
}

// messageJitter returns the factor on the times of a message, except for that of its transfer, which is that
// of the network.
func (w *simulation) messageJitter(from, to int32, m *msg.Message) float64 {
	return w.messageFactor(from, to, w.memberOfMessage(m.Rank, m.Step, m.Kind), m.Step, m.Kind)
}

// messageFactor is messageJitter for a message about the batch of one of the job's ranks.
func (w *simulation) messageFactor(from, to, rank, step int32, kind msg.Kind) float64 {
	return w.factor(w.hostSigma(from), "sim/jitter/message", uint64(w.fold.roleOf(w, from, rank, step)),
		uint64(w.fold.roleOf(w, to, rank, step)), uint64(rank), uint64(step), uint64(kind))
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
