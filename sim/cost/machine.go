package cost

import (
	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// MeasuredMachine holds measurements of one machine, on which all roles run in one process.
type MeasuredMachine struct {
	Cores       int
	Memory      unit.Bytes       // installed; 0: not known
	Multiply    unit.FLOPsPerSec // matrix products of one core
	CopySpeed   unit.BytesPerSec // one core, from memory to memory
	RowTime     unit.Tick        // of one core to look up one row
	MessageTime unit.Tick        // of one message between two roles, from sending to receiving
	Date        string           // of the measurement: YYYY-MM-DD

	EmbeddingWorkers, EmbeddingPSs int            // in the process; 0: one
	Recorded                       *RecordedTimes // nil: the rates above price all work
}

// ThisMachine returns the cluster that is one measured machine. EWs, PSs and ranks share its cores, and the
// dense network runs on the cores too. Messages pass pointers.
//
// The probe does not measure everything. The memory is assumed to serve all cores at their copy speed, for
// reads and writes, and to deliver random rows as fast as all cores ask for them. Half of a message's time is
// the sender's work, half the receiver's.
func ThisMachine(m MeasuredMachine) *Hardware {
	const source = "probe of this machine"
	one := given(1, "measured on this machine")
	host := &device.HostProfile{
		Name:       "this-machine",
		Cores:      measured(m.Cores, source, m.Date),
		Memory:     measured(m.Memory, source, m.Date),
		Bandwidth:  measured(2*m.CopySpeed*unit.BytesPerSec(m.Cores), source, m.Date),
		RowsPerSec: measured(float64(m.Cores)/m.RowTime.Seconds(), source, m.Date),
		RowTime:    measured(m.RowTime, source, m.Date),
		CopySpeed:  measured(m.CopySpeed, source, m.Date),
	}
	whole := device.CurveProfile[unit.Bytes]{
		Points: []device.CurvePoint[unit.Bytes]{{Size: 0, Share: 1}}, Kind: quantity.Measured, Source: source,
		Date: m.Date,
	}
	return &Hardware{
		accelerator: &device.AcceleratorProfile{
			Name:            "this-machine",
			Memory:          measured(m.Memory, source, m.Date),
			MemoryBandwidth: measured(2*m.CopySpeed, source, m.Date),
			PeakFP32:        measured(m.Multiply, source, m.Date),
			PeakHalf:        measured(m.Multiply, source, m.Date),
			ComputeShare: device.CurveProfile[unit.FLOPs]{
				Points: []device.CurvePoint[unit.FLOPs]{{Size: 0, Share: 1}}, Kind: quantity.Measured,
				Source: source, Date: m.Date,
			},
			MemoryShare: whole,
		},
		serverProfile: host, ewProfile: host, psProfile: host, loaderProfile: host,
		inside: &device.WireProfile{
			Name:      "memory",
			Bandwidth: measured(m.CopySpeed, source, m.Date),
			Share:     measured(1.0, source, m.Date),
			Latency:   measured(m.MessageTime, source, m.Date),
		},
		software: job.Software{
			MessageTime: measured(m.MessageTime/2, source, m.Date),
			IDTime:      job.DefaultSoftware().IDTime,
			Threads:     measured(1, "the roles of one process work in one goroutine each", m.Date),
		},
		ewHosts: one, psHosts: one, loaderHosts: one, AcceleratorsPerServer: 1,
		EWsPerHost: max(1, m.EmbeddingWorkers), PSsPerHost: max(1, m.EmbeddingPSs), machine: &m,
	}
}

func measured[U quantity.Number](value U, source, date string) quantity.Value[U] {
	return quantity.Value[U]{Mid: value, Kind: quantity.Measured, Source: source, Date: date}
}
