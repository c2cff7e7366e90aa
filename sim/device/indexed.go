package device

import (
	"fmt"
	"math"

	"tandem/algo/unit"
)

// Indexed is the work on rows in one accelerator's memory that a hash index finds, by the kernels of
// tandem/runtime/cuda/kernels. They sum the gradients of a row in a fixed order, so that a step has the same
// bits on any number of accelerators. All values are of 32 bits.
type Indexed struct {
	Lookups  float64 // occurrences of rows
	Distinct float64 // rows among them
	New      float64 // of these, rows that do not exist yet
	Outputs  float64 // pooled vectors
	// Groups is the number of parts whose gradients are summed apart, each by a launch of its own, and
	// Partial the number of rows, of all parts together.
	Groups  int
	Partial float64
	Dim     int
	State   int     // values of the optimizer's state of a row
	Probes  float64 // slots of the index that finding a row reads, in the mean
}

// Sizes on the device, in bytes. A slot of the index has sign, row and first occurrence; a sign is as long as
// an id.
const (
	indexBytes  = 16
	numberBytes = 4
	fp32Bytes   = 4
	sortDigits  = 256 // of a pass of the sort
)

// Pool returns the kernels that find rows and sum those of each bag. Notes says that they also note of every
// occurrence where its row is and where its gradient will be: the table is not one that another kernel has
// noted them of.
func (a *Accelerator) Pool(x Indexed, notes bool) []Kernel {
	bytes := x.Lookups*idBytes + x.Outputs*(numberBytes+x.row()) + a.find(&x, x.Lookups) +
		a.gather(x.Lookups, x.Distinct, x.row(), 0)
	if notes {
		bytes += a.noted(&x)
	}
	return []Kernel{x.kernel(max(1, x.Groups), bytes)}
}

// Note returns the kernels that find rows and note their occurrences, without reading a row.
func (a *Accelerator) Note(x Indexed) []Kernel {
	bytes := x.Lookups*idBytes + x.Outputs*numberBytes + a.find(&x, x.Lookups) + a.noted(&x)
	return []Kernel{x.kernel(max(1, x.Groups), bytes)}
}

// Number returns the kernels that make new rows in the order of their first occurrences: one counts them by
// chunk, one sums the counts, and one makes the rows and the keys of the sort.
func (a *Accelerator) Number(x Indexed) []Kernel {
	look := x.Lookups*numberBytes + a.find(&x, x.Lookups)
	made := x.New * (x.row() + x.state() + idBytes + numberBytes)
	return []Kernel{x.kernel(1, look), x.kernel(1, 0), x.kernel(1, look+2*x.Lookups*numberBytes+made)}
}

// Sort returns the kernels that sort a number of keys, with their places, in a number of passes. Each pass
// has a launch that counts digits by chunk, one that sums the counts, and one that moves the keys. In the
// first and the last, every key is compared with all digits: 2 and 6 operations, each of which takes a lane
// for as long as a multiplication with an addition.
func (a *Accelerator) Sort(keys float64, passes int) (all []Kernel) {
	var x Indexed
	for range passes {
		count, move := x.kernel(1, keys*numberBytes), x.kernel(1, 4*keys*numberBytes)
		count.FLOPs, move.FLOPs = 2*2*sortDigits*unit.FLOPs(keys), 2*6*sortDigits*unit.FLOPs(keys)
		all = append(all, count, x.kernel(1, 0), move)
	}
	return all
}

// Sum returns the kernel that adds the gradients of each row in each part, in the order of its occurrences:
// the gradient of its pooled vector is read for every lookup.
func (a *Accelerator) Sum(x Indexed) []Kernel {
	bytes := 2*x.Lookups*numberBytes + a.noticed(&x, x.Lookups) +
		a.gather(x.Lookups, min(x.Outputs, x.Lookups), x.row(), 0) + x.Partial*(x.row()+numberBytes)
	return []Kernel{x.kernel(1, bytes)}
}

// Send returns the kernel that adds the sums of all parts and writes that of each row to where it is sent
// from.
func (a *Accelerator) Send(x Indexed) []Kernel {
	return []Kernel{x.kernel(1, a.added(&x)+a.gather(x.Distinct, x.Distinct, x.row(), 0))}
}

// Update returns the kernel that adds the sums of all parts and takes the optimizer's step of each row: its
// values, its state and its count are read and written.
func (a *Accelerator) Update(x Indexed) []Kernel {
	beside := x.state()
	if beside > 0 {
		beside = max(sectorBytes, beside)
	}
	rows := 2*a.gather(x.Distinct, x.Distinct, x.row(), beside) +
		2*a.gather(x.Distinct, x.Distinct, sectorBytes, 0)
	return []Kernel{x.kernel(1, a.added(&x)+x.Distinct*x.row()+rows)}
}

// Deal returns the kernels that number the distinct rows of a batch by the ranks that own them, and write
// their signs in this order.
func (a *Accelerator) Deal(x Indexed) []Kernel {
	all := []Kernel{x.kernel(1, x.Distinct*(idBytes+2*numberBytes))}
	all = append(all, a.Sort(x.Distinct, 1)...)
	bytes := x.Distinct*(numberBytes+idBytes) + a.gather(x.Distinct, x.Distinct, sectorBytes, 0) +
		2*a.find(&x, x.Distinct)
	return append(all, x.kernel(1, bytes))
}

// Answer returns the kernel that finds rows and writes each of them for the rank that asks for it.
func (a *Accelerator) Answer(x Indexed) []Kernel {
	bytes := x.Lookups*(idBytes+x.row()) + a.find(&x, x.Lookups) + a.noted(&x) +
		a.gather(x.Lookups, x.Distinct, x.row(), 0)
	return []Kernel{x.kernel(1, bytes)}
}

// ClearIndex returns the kernel that empties an index of a number of slots.
func (a *Accelerator) ClearIndex(slots float64) []Kernel {
	return []Kernel{new(Indexed).kernel(1, slots*indexBytes)}
}

// TimeOf returns the time of kernels, one after the other.
func (a *Accelerator) TimeOf(kernels ...Kernel) (sum unit.Tick) {
	for _, k := range kernels {
		sum += a.Time(k)
	}
	return sum
}

// Launches returns the number of launches of kernels.
func Launches(kernels ...Kernel) (n int) {
	for _, k := range kernels {
		n += k.Launches
	}
	return n
}

// find returns the bytes of finding the rows of a number of occurrences: the slots from the first to that of
// the row follow each other, from the begin or the middle of a sector.
func (a *Accelerator) find(x *Indexed, occurrences float64) float64 {
	return a.gather(occurrences, min(x.Distinct, occurrences), indexBytes*(x.Probes+1), 0)
}

// noted returns the bytes of noting where the rows and the gradients of occurrences are: two numbers each,
// and which occurrence of a row is its first.
func (a *Accelerator) noted(x *Indexed) float64 {
	return 2*x.Lookups*numberBytes + a.gather(x.Distinct, x.Distinct, sectorBytes, 0)
}

// noticed returns the bytes of reading what is noted of a number of occurrences, in the order of their rows.
func (a *Accelerator) noticed(x *Indexed, occurrences float64) float64 {
	return a.gather(occurrences, occurrences*numberBytes/sectorBytes, sectorBytes, 0)
}

// added returns the bytes of adding the sums of all parts: all keys are read, and where each row is, and its
// sums.
func (a *Accelerator) added(x *Indexed) float64 {
	return 2*x.Lookups*numberBytes + a.noticed(x, x.Distinct) + a.find(x, x.Distinct) +
		a.gather(x.Partial, x.Partial, x.row(), 0)
}

// row and state return the bytes of the values of a row, and of its state.
func (x *Indexed) row() float64   { return fp32Bytes * float64(x.Dim) }
func (x *Indexed) state() float64 { return fp32Bytes * float64(x.State) }

// kernel returns a kernel that moves a number of bytes.
func (x *Indexed) kernel(launches int, bytes float64) Kernel {
	if !(x.Distinct >= 0 && x.Distinct <= x.Lookups*(1+1e-9) && x.New >= 0 && x.Outputs >= 0 &&
		x.Partial >= 0 && bytes >= 0) {
		panic(fmt.Sprintf("device: work on indexed rows %+v of %v bytes, want 0 ≤ distinct ≤ lookups",
			*x, bytes))
	}
	return Kernel{Launches: launches, Bytes: unit.Bytes(math.Ceil(bytes))}
}
