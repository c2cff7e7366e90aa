package cluster

import (
	"fmt"
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/device"
)

// account adds up, by name of a resource, what the roles ask of the cluster: bytes of a link, time of others.
type account struct {
	prices *cost.Prices
	config *role.Config
	hosts  map[msg.Address]int32  // where a role runs
	models map[int32]*device.Host // by host
	sums   map[string]float64
}

// accounted is a role whose requests are added to an account.
type accounted struct {
	role.Role
	*account
}

// HandleInput implements role.Role.
func (a accounted) HandleInput(now unit.Tick, in role.Input, out *role.Outputs) {
	before := len(out.List)
	a.Role.HandleInput(now, in, out)
	for i := range out.List[before:] {
		switch o := &out.List[before+i]; o.Kind {
		case role.Send:
			a.message(&o.Message)
		case role.Do:
			a.work(a.Address(), o.Work, len(o.Operands.Reads))
		}
	}
}

func (a *account) add(resource string, index int32, amount float64) {
	a.sums[fmt.Sprint(resource, " ", index)] += amount
}

// message adds a message: core time at both ends, and for a payload that leaves its host a copy at both ends
// and its bytes on the two links of its path. The accelerators exchange samples, embeddings, parameters and
// gradients with their hosts.
func (a *account) message(m *msg.Message) {
	from, to := a.hosts[m.From], a.hosts[m.To]
	payload := unit.Bytes(0)
	if m.Kind.HasPayload() {
		payload = m.Bytes
	}
	for _, host := range []int32{from, to} {
		a.host(host, a.prices.Message(a.models[host], payload, from != to))
	}
	if from != to && m.Kind.HasPayload() {
		a.add("up", from, float64(m.Bytes))
		a.add("down", to, float64(m.Bytes))
	}
	switch m.Kind {
	case msg.PutGradients, msg.Embeddings:
		if a.prices.Job.HasRowsOnGPU() && !a.prices.Job.MixesPlacements() {
			return // ids stay on the host, and gradients on the accelerator
		}
	}
	bytes := m.Bytes
	if m.Kind == msg.Embeddings && a.prices.Job.MixesPlacements() {
		bytes -= 8 * 512 * slotsOnGPU // ids
	}
	switch m.Kind {
	case msg.PutGradients, msg.Push:
		a.add("copies out", m.Rank, float64(a.prices.HostLinkWire.Time(bytes)))
	case msg.Samples, msg.Embeddings, msg.Params:
		a.add("copies in", m.Rank, float64(a.prices.HostLinkWire.Time(bytes)))
	}
}

func (a *account) host(host int32, price device.HostCost) {
	a.add("cores", host, float64(price.Core))
	a.add("memory", host, float64(price.Memory))
}

// work adds the price of a piece of work.
func (a *account) work(at msg.Address, w role.Work, reads int) {
	p, host := a.prices, a.hosts[at]
	b := p.Batch(512)
	switch w.Kind {
	case role.Read:
		a.host(host, p.ReadBatch(512*int(a.config.Ranks)))
	case role.Split:
		a.host(host, b.Split)
	case role.ReadRows:
		a.host(host, p.ReadRows(b.RowsPerPS, 512))
	case role.Pool:
		a.host(host, b.Pool)
	case role.Merge:
		a.host(host, p.Merge(512, b.DistinctRows))
	case role.Apply:
		a.host(host, p.Apply(b.RowsPerPS, 512))
	case role.ReadDense:
		a.host(host, p.PSHost.CopyCost(a.config.DensePSs[at.Index]))
	case role.ApplyPush:
		a.host(host, p.ApplyPush(a.config.DensePSs[at.Index], reads))
	case role.Forward:
		a.add("launches", w.Rank, float64(b.ForwardHost))
		a.add("kernels", w.Rank, float64(b.Forward+b.HotForward))
		if r := b.Rows; r != nil {
			a.add("launches", w.Rank, float64(r.Find.Host+r.Answer.Host+r.Pool.Host))
			a.add("kernels", w.Rank, float64(r.Find.Kernels+r.Answer.Kernels+r.Pool.Kernels))
			a.add("copies in", w.Rank, float64(p.HostLinkWire.Time(r.Staged)))
		}
	case role.Backward:
		a.add("launches", w.Rank, float64(b.BackwardHost))
		a.add("kernels", w.Rank, float64(b.Backward+b.HotBackward))
		if r := b.Rows; r != nil { // the update follows
			a.add("launches", w.Rank, float64(r.Columns.Host+r.Sum.Host+r.Update.Host))
			a.add("kernels", w.Rank, float64(r.Columns.Kernels+r.Sum.Kernels+r.Update.Kernels))
		}
	case role.DenseApply:
		a.add("kernels", w.Rank, float64(b.Update+p.HotUpdate(0, 512*int(a.config.Ranks))))
	default:
		panic(fmt.Sprintf("work of kind %v has no price here", w.Kind))
	}
}

// Bytes and work are conserved in a whole run. Every link has carried the bytes of the messages over it: the
// sum over links is the sum of messages times hops. Every core, memory, accelerator and copy engine has been
// busy for the sum of the prices of the work that the roles asked for, wherever it waited meanwhile.
//
// The tolerance is for shared cores and memory, where an activity ends at a whole nanosecond, and all its
// threads count as busy until then.
func TestBytesAndWorkAreConserved(t *testing.T) {
	const tolerance = 2e-5
	for _, c := range []struct {
		mode               string
		hot, onGPU, bySlot bool
	}{{job.Hybrid, false, false, false}, {job.AsyncPS, false, false, false}, {job.Hybrid, true, false, false},
		{job.Hybrid, false, true, false}, {job.Hybrid, false, false, true}} {
		s, mode := small(), c.mode
		s.Unfold = true
		j := training(mode, 4)
		if c.onGPU {
			j = onGPUs(mode, 4)
		}
		if c.bySlot {
			j = bySlot(mode, 4, slotsOnGPU)
		}
		j.Roles.DensePSs = 2
		layout, clicks := tower(t), clicks()
		if c.hot {
			j.Rows.Hot.Share, clicks = 0.001, hotClicks()
		}
		if c.bySlot {
			clicks = clicksBySlot()
		}
		j = j.InMode(mode)
		o := Options{check: true}
		h := connected(hardwareOf(t, s), 1, 4<<20)
		p := cost.NewPrices(h.Resolve(), &j, layout, &clicks, false)
		p.System.NNWorker.Interference.Mid = 0 // so that kernels take their price
		j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs = p.EWHostCount*p.EmbeddingWorkers.PerHost, p.PSStates
		cfg, err := j.RoleConfig(layout, 0, 30)
		if err != nil {
			t.Fatal(err)
		}
		if c.hot {
			cfg.Buckets = append(cfg.Buckets, 4*10_000*17)
		}
		w, err := newSimulation(p, cfg, &o)
		if err != nil {
			t.Fatal(err)
		}
		w.measurement, w.contract = newMeasurement(span{10, 10, 1, 30}, cfg), newContractCheck(w)
		a := &account{p, cfg, map[msg.Address]int32{}, map[int32]*device.Host{}, map[string]float64{}}
		for i := range w.instances {
			n := &w.instances[i]
			host := w.places[i].host
			a.hosts[n.at], a.models[host] = host, w.hosts[host].model
			n.role = accounted{n.role, a}
		}
		if err := w.run(); err != nil {
			t.Fatal(err)
		}
		now := w.clock.Now()
		got := account{sums: map[string]float64{}}
		for i := range int32(len(w.hosts)) {
			h := &w.hosts[i]
			card := w.graph.HostCards(h.node)[0] // the only one
			got.add("up", i, w.net.Carried(now, card))
			got.add("down", i, w.net.Carried(now, card+1))
			got.add("cores", i, float64(h.cores.Stats(now).Busy))
			got.add("memory", i, float64(h.bus.Stats(now).Busy))
		}
		for rank := range cfg.Ranks {
			x := &w.accelerators[rank]
			got.add("launches", rank, float64(x.launcher.Stats(now).Busy))
			got.add("kernels", rank, float64(x.kernels.Stats(now).Busy))
			got.add("copies in", rank, float64(x.copyIn.Stats(now).Busy))
			got.add("copies out", rank, float64(x.copyOut.Stats(now).Busy))
		}
		used := 0
		for name, sum := range got.sums { // order-free: each is checked by itself
			want := a.sums[name]
			if math.Abs(sum-want) > tolerance*want {
				t.Errorf("%s, %s: %.1f, the requests add up to %.1f", mode, name, sum, want)
			}
			if want > 0 {
				used++
			}
			delete(a.sums, name)
		}
		t.Logf("%s: %d resources of %d in use", mode, used, len(got.sums))
		least := 40
		if c.onGPU {
			least = 30 // EWs and PSs have no work, and no gradient is copied
		}
		if used < least || len(a.sums) > 0 {
			t.Errorf("%s: %d resources in use; not found: %v", mode, used, a.sums)
		}
	}
}
