package station

import (
	"cmp"
	"math"
	"slices"

	"tandem/algo/unit"
)

// Station is a place where work waits for a number of servers.
type Station interface {
	// Servers returns the number of servers.
	Servers() float64
	// Stats returns what the station has done up to now, which must not be before its last change.
	Stats(now unit.Tick) Stats
}

// Stats is what a station has done up to an instant.
type Stats struct {
	Busy   unit.Tick // working time, summed over the servers
	Waited unit.Tick // waiting time, summed over all that waited: the integral of the queue length
	Served int64     // pieces of work
}

// Registry holds the stations of a run by class: equal stations with the same role, such as the cores of all
// PS hosts. The zero Registry is empty.
type Registry struct {
	classes  []string
	stations []registered
}

type registered struct {
	class int
	Station
	count float64 // of equal stations that it stands for
}

// Add registers a station under the name of its class.
func (r *Registry) Add(class string, s Station) { r.AddFor(class, s, 1) }

// AddFor is Add of a station that stands for a number of equal ones.
func (r *Registry) AddFor(class string, s Station, count float64) {
	i := slices.Index(r.classes, class)
	if i < 0 {
		i = len(r.classes)
		r.classes = append(r.classes, class)
	}
	r.stations = append(r.stations, registered{i, s, count})
}

// Each calls a function for every station, in the order in which they were added.
func (r *Registry) Each(f func(class string, s Station)) {
	for _, s := range r.stations {
		f(r.classes[s.class], s.Station)
	}
}

// Snapshot is what all stations of a registry have done up to an instant.
type Snapshot struct {
	at    unit.Tick
	stats []Stats // in the order of the stations
}

// Snapshot returns what all stations have done up to now.
func (r *Registry) Snapshot(now unit.Tick) Snapshot {
	s := Snapshot{now, make([]Stats, len(r.stations))}
	for i := range r.stations {
		s.stats[i] = r.stations[i].Stats(now)
	}
	return s
}

// Use is how a class of stations was used between two instants.
type Use struct {
	Name string  `json:"name"`
	Busy float64 `json:"busy"` // share of the time of all its servers, of the busiest station
	// Queue is the mean over time of the number that waited, of the station with the longest queue.
	Queue   float64 `json:"queue"`
	Servers float64 `json:"servers"`

	Stations  int     `json:"stations"`
	MeanBusy  float64 `json:"mean_busy"`  // over the stations
	MeanQueue float64 `json:"mean_queue"` // over the stations
	Served    int64   `json:"served"`     // by all stations
}

// Use returns how each class was used between two instants: the busiest class first, equally busy classes in
// the order in which they were added. Classes that served nothing are left out.
func (r *Registry) Use(from, to Snapshot) []Use {
	uses, counts := make([]Use, len(r.classes)), make([]float64, len(r.classes))
	span := float64(to.at - from.at)
	for i, s := range r.stations {
		u := &uses[s.class]
		u.Name, u.Servers = r.classes[s.class], s.Servers()
		busy := float64(to.stats[i].Busy-from.stats[i].Busy) / (span * s.Servers())
		queue := float64(to.stats[i].Waited-from.stats[i].Waited) / span
		counts[s.class] += s.count
		u.Busy, u.MeanBusy = max(u.Busy, busy), u.MeanBusy+float64(busy*s.count)
		u.Queue, u.MeanQueue = max(u.Queue, queue), u.MeanQueue+float64(queue*s.count)
		u.Served += int64(math.Round(float64(to.stats[i].Served-from.stats[i].Served) * s.count))
	}
	for i := range uses {
		uses[i].Stations = int(math.Round(counts[i]))
		uses[i].MeanBusy /= counts[i]
		uses[i].MeanQueue /= counts[i]
	}
	uses = slices.DeleteFunc(uses, func(u Use) bool { return u.Served == 0 })
	slices.SortStableFunc(uses, func(a, b Use) int { return cmp.Compare(b.Busy, a.Busy) })
	return uses
}
