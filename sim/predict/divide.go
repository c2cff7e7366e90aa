package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/sim/cost"
)

// Division says which slots of a job to leave to PSs because the GPUs do not hold the rows of all.
type Division struct {
	OnPSs    []string // slots; besides these, those that the job leaves there itself
	Capacity int      // the rows.capacity to set; 0: the limit of the job is right
	Rows     float64  // of the other slots
	Reads    float64  // their part of the reads of all rows that the job has on GPUs
	// Rate is the predicted throughput in samples a second, and RateOnPSs that with the rows of all slots on
	// PSs; 0 if these do not fit.
	Rate, RateOnPSs float64
}

// Divide simulates all divisions of up to groupsTried groups, and of more groups at most as many.
const (
	groupsTried   = 5
	divisionsMost = 1<<groupsTried - 1
)

// Divide returns the fastest of several divisions of a job whose rows do not fit the GPUs of its ranks, at
// the middle of the box; nil if they fit, or no feature group does. Of up to five feature groups it simulates
// all divisions that fit. Of more, it puts groups in the order of their reads of a row, leaves out each that
// does not fit behind those before it, and simulates the beginnings of this list: all, or 31 at equal
// distances.
//
// Cost: up to 32 simulations.
func Divide(ctx context.Context, j *Job, o Options) (*Division, error) {
	_, groups := j.Workload.GroupsByPlace(&j.Job)
	capacity := cost.GPURoom(j.Hardware.Resolve(), &j.Job, j.Layout, &j.Workload)
	room, rows := float64(capacity)*float64(j.Roles.Ranks), 0.0
	for i := range groups {
		rows += groups[i].Created
	}
	divisions := divisionsOf(groups, room)
	if rows <= room || len(divisions) == 0 {
		return nil, nil
	}
	rates := make([]float64, len(divisions)+1) // the last with all rows on PSs
	err := o.each(ctx, len(rates), func() {}, func(i int) (err error) {
		divided := *j
		if divided.Job = j.WithRowsOnPSs(); i < len(divisions) {
			divided.Job = j.WithSlotsOnPSs(slotsBeside(groups, divisions[i]))
			divided.Job.Rows.Capacity, divided.Job.Rows.Memory = capacity, 0
		}
		r, err := o.run(ctx, &divided, o.Seed)
		if rates[i] = r.Throughput; DoesNotFit(err) {
			rates[i], err = 0, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	fastest := 0
	for i := range divisions {
		if rates[i] > rates[fastest] {
			fastest = i
		}
	}
	if rates[fastest] == 0 {
		return nil, nil
	}
	d := &Division{OnPSs: slotsBeside(groups, divisions[fastest]), Rate: rates[fastest],
		RateOnPSs: rates[len(divisions)]}
	if capacity < j.RowsConfig().Most() {
		d.Capacity = capacity
	}
	d.count(groups, divisions[fastest])
	return d, nil
}

// divisionsOf returns divisions of feature groups, each as the numbers of those on GPUs, whose rows fit a
// room: see Divide. All rows have the same size, so the groups with the most reads of a row are also those
// with the most reads of a byte.
func divisionsOf(groups []cost.GroupRows, room float64) (all [][]int) {
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(groups[b].Named*groups[a].Created, groups[a].Named*groups[b].Created)
	})
	if len(order) > groupsTried {
		on := thoseThatFit(order, groups, room)
		n := min(len(on), divisionsMost)
		for k := n; k > 0; k-- {
			all = append(all, on[:k*len(on)/n])
		}
		return all
	}
	for set := 1<<len(order) - 1; set > 0; set-- {
		var on []int
		for place, i := range order {
			if set&(1<<place) != 0 {
				on = append(on, i)
			}
		}
		if len(thoseThatFit(on, groups, room)) == len(on) {
			all = append(all, on)
		}
	}
	return all
}

// thoseThatFit returns those of some groups whose rows fit a room that they fill in their order.
func thoseThatFit(some []int, groups []cost.GroupRows, room float64) (on []int) {
	rows := 0.0
	for _, i := range some {
		if rows+groups[i].Created <= room {
			on, rows = append(on, i), rows+groups[i].Created
		}
	}
	return on
}

// slotsBeside returns the slots of all groups but those of some numbers.
func slotsBeside(groups []cost.GroupRows, on []int) (slots []string) {
	for i := range groups {
		if !slices.Contains(on, i) {
			slots = append(slots, groups[i].Slots...)
		}
	}
	return slots
}

// count sets the rows and the reads of the groups on GPUs.
func (d *Division) count(groups []cost.GroupRows, on []int) {
	all := 0.0
	for i := range groups {
		all += groups[i].Named
	}
	for _, i := range on {
		d.Rows += groups[i].Created
		d.Reads += groups[i].Named / all
	}
}

// String says what to set, and what is predicted of it.
func (d *Division) String() string {
	leave := fmt.Sprintf("leave %s to PSs (placement: %s in data.slots)", strings.Join(d.OnPSs, ", "),
		job.RowsOnPSs)
	if d.Capacity > 0 {
		leave += fmt.Sprintf(" and set rows.capacity to %d", d.Capacity)
	}
	leave += fmt.Sprintf(", for %.0f rows with %.0f %% of the reads on GPUs: %s samples/s", d.Rows,
		100*d.Reads, rateText(d.Rate))
	switch all := rateText(d.RateOnPSs); {
	case d.RateOnPSs == 0:
		return "by predicted rates, " + leave + "; all rows do not fit the PSs"
	case d.RateOnPSs >= d.Rate:
		return fmt.Sprintf("by predicted rates, leave all rows to PSs (rows.placement: %s, without "+
			"rows.capacity): %s samples/s; the best with rows on GPUs is to %s", job.RowsOnPSs, all, leave)
	default:
		return "by predicted rates, " + leave + "; with all rows on PSs " + all
	}
}

// rateText writes samples a second with three digits.
func rateText(x float64) string {
	digits := 0
	for x >= 1000 {
		x, digits = x/10, digits+1
	}
	return fmt.Sprintf("%.0f", math.Round(x)*math.Pow10(digits))
}

// WithDivision returns the error of a prediction or, if rows do not fit the GPUs of a job and a division of
// its slots does, this error with the fastest.
func WithDivision(ctx context.Context, j *Job, o Options, err error) error {
	if !errors.Is(err, cost.ErrGPUMemory) {
		return err
	}
	d, failed := Divide(ctx, j, o)
	if failed != nil || d == nil {
		return err
	}
	return fmt.Errorf("%w; %v", err, d)
}
