package device

import "tandem/algo/unit"

// Wire is a link for closed-form costs: one direction, without other traffic.
type Wire struct {
	Bandwidth unit.BytesPerSec // that transfers reach, not the nominal one
	Latency   unit.Tick        // of one message
}

// Time returns the time of one message of some bytes.
func (w Wire) Time(bytes unit.Bytes) unit.Tick {
	return w.Latency + ticks(float64(bytes)/float64(w.Bandwidth))
}
