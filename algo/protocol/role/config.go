package role

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
)

// Config is the configuration that all roles of a run share. It is never written.
type Config struct {
	Ranks            int32 // number of NN workers; ≥ 1
	EmbeddingWorkers int32 // ≥ 1
	EmbeddingPSs     int32 // number of embedding PSs; ≥ 1
	Steps            int32 // number of global batches to train; ≥ 1
	Rule             pace.Rule
	// Prefetch is the number of batches that the data loader deals out to a rank before the first of them is
	// done; ≥ 1. It also bounds the number of outstanding batches.
	Prefetch int32
	// WarmUp is the number of steps in which the bound on a rank's outstanding batches grows from 0 to that
	// of the rule; 0: no warm-up. FirstStep is the number of this run's step 0 in the training.
	WarmUp, FirstStep int32
	// Window is the number of lookups, and of puts, of one rank that may be unanswered between an EW and a
	// PS; ≥ 1. WindowBytes bounds the sum of their sizes, except that a single message of any size is
	// allowed; 0 means no bound. There is a window for each rank because a PS in sync mode holds the messages
	// of one rank until it has those of another: a common window would be a deadlock.
	EdgeWindow  int32
	WindowBytes unit.Bytes
	// Buckets are the sizes of the dense gradient buckets, in the order in which backward completes them; at
	// least one.
	Buckets []unit.Bytes
	// DensePSs are the sizes of the shards of the dense network as ranks pull them, by dense PS. It is
	// empty in modes without dense PSs.
	DensePSs []unit.Bytes
	// Pushes are the sizes of the pushes of a rank, by dense PS; nil: DensePSs.
	Pushes []unit.Bytes
	// RankRecovery lets an NN worker come back with the parameters of another rank, in modes whose ranks
	// reduce dense gradients in lock step: see rank_recovery.go. Its price: the last bucket of a rank waits
	// until the EW has the embedding gradients of the batch. Data loader and EW hold a batch, the EW with its
	// pooled embeddings, until some gradients of the next one are reduced; so Prefetch must be at least 2.
	RankRecovery bool
	// ProcessOf numbers the processes of the EWs, and then those of the ranks; nil: each has one of its own.
	// The batches of a rank go to EWs of other processes, if there are any, so that none is lost with it.
	ProcessOf []int32
	// Retry is the time after which a role repeats an unanswered request; 0 if the driver promises that no
	// message is lost.
	Retry unit.Tick
}

// InstancesMax is the largest number of instances of one role.
const InstancesMax = 1 << 14

// Validate returns an error that names the first setting out of range.
func (c *Config) Validate() error {
	for _, f := range []struct {
		name string
		v    int
	}{
		{"ranks", int(c.Ranks)}, {"embedding workers", int(c.EmbeddingWorkers)},
		{"embedding PSs", int(c.EmbeddingPSs)}, {"dense PSs", len(c.DensePSs)},
	} {
		if f.v > InstancesMax {
			return fmt.Errorf("role: %s = %d; want at most %d", f.name, f.v, InstancesMax)
		}
	}
	for _, f := range []struct {
		name string
		v    int32
	}{
		{"ranks", c.Ranks}, {"embedding workers", c.EmbeddingWorkers}, {"embedding PSs", c.EmbeddingPSs},
		{"steps", c.Steps}, {"prefetch", c.Prefetch}, {"window", c.EdgeWindow},
		{"dense gradient buckets", int32(len(c.Buckets))},
	} {
		if f.v < 1 {
			return fmt.Errorf("role: %s = %d; want at least 1", f.name, f.v)
		}
	}
	if c.WarmUp < 0 || c.FirstStep < 0 {
		return fmt.Errorf("role: warm-up of %d steps, first step %d; want 0 or more", c.WarmUp, c.FirstStep)
	}
	if c.WindowBytes < 0 || c.Retry < 0 {
		return fmt.Errorf("role: window of %d bytes, retry after %d ns; want 0 or more", c.WindowBytes,
			c.Retry)
	}
	if c.Rule == nil {
		return fmt.Errorf("role: no rule; set Config.Rule")
	}
	if err := c.validateStrategy(); err != nil {
		return err
	}
	if c.RankRecovery && c.Rule.Dense().Strategy != pace.Reduced {
		return fmt.Errorf("role: ranks of mode %s cannot take the parameters of another rank; want a mode "+
			"that reduces gradients in every step", c.Rule.Name())
	}
	if c.RankRecovery && c.Prefetch < 2 {
		return fmt.Errorf("role: prefetch = %d; want at least 2, as a rank that can come back holds one "+
			"batch more", c.Prefetch)
	}
	if n := c.EmbeddingWorkers + c.Ranks; c.ProcessOf != nil && len(c.ProcessOf) != int(n) {
		return fmt.Errorf("role: processes of %d embedding workers and ranks; want those of %d",
			len(c.ProcessOf), n)
	}
	if c.Pushes != nil && len(c.Pushes) != len(c.DensePSs) {
		return fmt.Errorf("role: sizes of pushes to %d dense PSs; want sizes for %d", len(c.Pushes),
			len(c.DensePSs))
	}
	if c.Rule.Dense().DensePSs != (len(c.DensePSs) > 0) {
		return fmt.Errorf("role: %d dense PSs; want at least 1 in modes that train with them, and none "+
			"in others", len(c.DensePSs))
	}
	return c.Rule.Validate()
}

// mayIssue reports whether a rank may issue the lookup of a step while a number of its batches are
// outstanding.
func (c *Config) mayIssue(step, outstanding int32) bool {
	if at := int64(c.FirstStep) + int64(step); at < int64(c.WarmUp) {
		most := int64(pace.Depth(c.Rule, int(c.Prefetch))) - 1
		if int64(outstanding) > most*at/int64(c.WarmUp) {
			return false
		}
	}
	return c.Rule.MayIssue(int(outstanding))
}

// pushBytes returns the size of a push to a dense PS.
func (c *Config) pushBytes(densePS int32) unit.Bytes {
	if c.Pushes == nil {
		return c.DensePSs[densePS]
	}
	return c.Pushes[densePS]
}

// coordinated reports whether the run has a coordinator.
func (c *Config) coordinated() bool { return c.Rule.Dense().Coordinator }

// WorkerOf returns the EW of a batch: round robin in the order in which the data loader deals out the
// batches, over the EWs that do not share the process of the rank.
func (c *Config) WorkerOf(rank, step int32) msg.Address {
	batch, all := int64(step)*int64(c.Ranks)+int64(rank), c.EmbeddingWorkers
	if c.ProcessOf == nil {
		return embeddingWorker(int32(batch % int64(all)))
	}
	own, others := c.ProcessOf[all+rank], int64(0)
	for _, process := range c.ProcessOf[:all] {
		if process != own {
			others++
		}
	}
	if others == 0 {
		return embeddingWorker(int32(batch % int64(all)))
	}
	turn := batch % others
	i := slices.IndexFunc(c.ProcessOf[:all], func(process int32) bool {
		if process != own {
			turn--
		}
		return turn < 0
	})
	return embeddingWorker(int32(i))
}

func embeddingWorker(i int32) msg.Address { return msg.Address{Role: msg.EmbeddingWorker, Index: i} }

func embeddingPS(i int32) msg.Address { return msg.Address{Role: msg.EmbeddingPS, Index: i} }
func nnWorker(i int32) msg.Address    { return msg.Address{Role: msg.NNWorker, Index: i} }

func densePS(i int32) msg.Address { return msg.Address{Role: msg.DensePS, Index: i} }

var (
	loader      = msg.Address{Role: msg.DataLoader}
	coordinator = msg.Address{Role: msg.Coordinator}
)

// New returns the roles of a run in the order of their addresses: data loader, EWs, embedding PSs, NN
// workers, and the dense PSs and the coordinator of modes that have them. cfg must be valid.
func New(cfg *Config) []Role {
	roles := []Role{NewDataLoader(cfg)}
	for i := range cfg.EmbeddingWorkers {
		roles = append(roles, NewEmbeddingWorker(cfg, i))
	}
	for i := range cfg.EmbeddingPSs {
		roles = append(roles, NewEmbeddingPS(cfg, i))
	}
	for i := range cfg.Ranks {
		roles = append(roles, NewNNWorker(cfg, i))
	}
	for i := range cfg.DensePSs {
		roles = append(roles, NewDensePS(cfg, int32(i)))
	}
	if cfg.coordinated() {
		roles = append(roles, cfg.strategy().coordinator(cfg))
	}
	return roles
}
