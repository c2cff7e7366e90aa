package cost

import (
	"cmp"

	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/system"
)

// MeasuredMachine holds measurements of one machine, on which all roles run in one process.
type MeasuredMachine struct {
	Cores       int
	Memory      unit.Bytes       // installed; 0: not known
	Multiply    unit.FLOPsPerSec // matrix products of one core
	CopySpeed   unit.BytesPerSec // one core, from memory to memory
	RowTime     unit.Tick        // of one core to look up one row
	CreateTime  unit.Tick        // … to create a row at its first look-up, beyond RowTime; 0: not priced
	MessageTime unit.Tick        // of one message between two roles, from sending to receiving
	MessageWork unit.Tick        // of the cores for it, at both ends; 0: MessageTime
	TimerLate   unit.Tick        // by how much timers fire late, which delays of messages wait for
	Date        string           // of the measurement: YYYY-MM-DD

	// Access, if not nil, says how long rows take in tables of any size. RowTime then prices no rows.
	Access *MeasuredAccess

	EmbeddingWorkers, EmbeddingPSs int            // in the process; 0: one
	Recorded                       *RecordedTimes // nil: the rates above price all work
}

// MeasuredAccess is what the memory of one machine takes for rows at random places, and a core beside it.
type MeasuredAccess struct {
	// Memory has latencies, cache, TLB, pages, and the lines and walks in flight (device.FitMemory). Its
	// HugePageShare is that of the table.
	Memory device.Host
	// Read and Update are the work of a core on a row that the memory does not hide, at the dimension of the
	// workload.
	Read, Update unit.Nanos
}

// ThisMachine returns the cluster that is one measured machine. EWs, PSs and ranks share its cores, and the
// dense network runs on the cores too. Messages pass pointers.
//
// With m.Access, a row costs the work of a core and the wait for its memory, by the law of
// device.Host.RowTime for the size of the table; without, every row costs the same.
//
// The probe does not measure everything. The memory is assumed to serve all cores at their copy speed, for
// reads and writes, and to deliver random rows as fast as all cores ask for them. Half of a message's time is
// the sender's work, half the receiver's.
func ThisMachine(m MeasuredMachine) *Hardware {
	const source = "probe of this machine"
	host := device.HostProfile{
		Name:       "this-machine",
		Cores:      measured(m.Cores, source, m.Date),
		CoreSpeed:  measured(1.0, "the prices below are of this machine", m.Date),
		Memory:     measured(m.Memory, source, m.Date),
		Bandwidth:  measured(2*m.CopySpeed*unit.BytesPerSec(m.Cores), source, m.Date),
		RowsPerSec: measured(float64(m.Cores)/m.RowTime.Seconds(), source, m.Date),
		CopySpeed:  measured(m.CopySpeed, source, m.Date),
	}
	whole := func() device.CurveProfile[unit.Bytes] {
		return device.CurveProfile[unit.Bytes]{
			Points: []device.CurvePoint[unit.Bytes]{{Size: 0, Share: 1}}, Kind: quantity.Measured,
			Source: source,
			Date:   m.Date,
		}
	}
	one := given(1, "measured on this machine")
	h := &Hardware{
		Accelerator: device.AcceleratorProfile{
			Name:            "this-machine",
			Memory:          measured(m.Memory, source, m.Date),
			MemoryBandwidth: measured(2*m.CopySpeed, source, m.Date),
			PeakFP32:        measured(m.Multiply, source, m.Date),
			ComputeShare: device.CurveProfile[unit.FLOPs]{
				Points: []device.CurvePoint[unit.FLOPs]{{Size: 0, Share: 1}}, Kind: quantity.Measured,
				Source: source, Date: m.Date,
			},
			MemoryShare: whole(),
		},
		Server:           host,
		EmbeddingWorkers: HostGroup{Host: host, Count: one, PerHost: max(1, m.EmbeddingWorkers)},
		EmbeddingPSs:     HostGroup{Host: host, Count: one, PerHost: max(1, m.EmbeddingPSs)},
		Loaders:          HostGroup{Host: host, Count: one, PerHost: 1},
		Inside: device.WireProfile{
			Name:      "memory",
			Bandwidth: measured(m.CopySpeed, source, m.Date),
			Share:     measured(1.0, source, m.Date),
			Latency:   measured(m.MessageTime, source, m.Date),
		},
		System: m.system(), machine: &m,
	}
	if m.Access != nil {
		m.setAccess(&h.EmbeddingPSs.Host)
	}
	h.Cluster.AcceleratorsPerServer = 1
	return h
}

// setAccess gives a host what device.Host.RowTime needs.
func (m *MeasuredMachine) setAccess(p *device.HostProfile) {
	const source = "chases through the memory of this machine"
	a := &m.Access.Memory
	p.Sockets = measured(1, source, m.Date)
	p.MemoryLatency = measured(a.MemoryLatency, source, m.Date)
	p.Cache = measured(a.Cache, source, m.Date)
	p.CacheLatency = measured(a.CacheLatency, source, m.Date)
	p.TLBEntries = measured(a.TLBEntries, source, m.Date)
	p.HugePageShare = measured(a.HugePageShare, source, m.Date)
	if a.Virtual {
		p.HypervisorHugePageShare = measured(a.HypervisorHugePageShare, source, m.Date)
	}
	p.CacheTogether = measured(a.CacheTogether, source, m.Date)
	p.LinesInFlight = measured(a.LinesInFlight, source, m.Date)
	p.WalksInFlight = measured(a.WalksInFlight, source, m.Date)
	p.NextLine = measured(a.NextLine, source, m.Date)
	// The lines of all cores together; a row has at least one.
	p.RowsPerSec = measured(float64(m.Cores)*a.LinesInFlight/a.MemoryLatency.Seconds(), source, m.Date)
}

// system returns the prices of Tandem's runtime on the machine.
func (m *MeasuredMachine) system() system.Profile {
	const source = "probe of this machine"
	value := unit.Nanos(valueBytes / float64(m.CopySpeed) * 1e9) // to move one value
	nanos := func(n unit.Nanos) quantity.Value[unit.Nanos] { return measured(n, source, m.Date) }
	service := system.Service{
		Threads: measured(1, "the roles of one process work in one goroutine each", m.Date),
		Width:   measured(1, "the roles of one process work in one goroutine each", m.Date),
	}
	id := quantity.Value[unit.Nanos]{
		Low: 10, Mid: 30, High: 100, Kind: quantity.Guessed,
		Source: "a hash and one to a few probes of a table in cache", Date: "2023",
	}
	hot := quantity.Value[unit.Nanos]{
		Low: 6, Mid: 12, High: 25, Kind: quantity.Guessed, Source: "as of the system tandem", Date: "2026-11",
	}
	row := unit.Nanos(m.RowTime)
	read := system.RowWork{RowTime: nanos(row), ValueTime: nanos(2 * value)} // read, and copied
	// Values and state are read and written.
	update := system.RowWork{RowTime: nanos(row), ValueTime: nanos(4 * value)}
	if m.Access != nil { // memory is priced apart
		read, update = system.RowWork{RowTime: nanos(m.Access.Read)},
			system.RowWork{RowTime: nanos(m.Access.Update)}
	}
	return system.Profile{
		Name: "this-machine", Architecture: system.Roles,
		Messages: system.Messages{Time: measured(cmp.Or(m.MessageWork, m.MessageTime)/2, source, m.Date)},
		EmbeddingWorker: system.EmbeddingWorker{Service: service, IDTime: id, HotIDTime: hot,
			PoolValueTime: nanos(value), MergeValueTime: nanos(value)},
		EmbeddingPS: system.EmbeddingPS{
			Service: service, Read: read, Update: update,
			Create: system.Creation{RowTime: nanos(unit.Nanos(m.CreateTime))},
		},
		DensePS: service,
		Loader:  system.Loader{IDTime: id},
	}
}

func measured[U quantity.Number](value U, source, date string) quantity.Value[U] {
	return quantity.Value[U]{Mid: value, Kind: quantity.Measured, Source: source, Date: date}
}
