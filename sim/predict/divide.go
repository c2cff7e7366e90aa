package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
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

	toPSs string // how to have all rows on PSs
	stale string // what to add where reads on PSs are stale
}

// The numbers of divisions that Divide simulates: at most divisionsMost, unless its options have another
// number, and on clusters of many ranks, whose simulations take long, at most ranksTried ranks in all, but at
// least divisionsLeast divisions.
const (
	divisionsMost  = 31
	divisionsLeast = 3
	ranksTried     = 512
)

// Divide returns the fastest of several divisions of a job whose rows do not fit the GPUs of its ranks, at
// the middle of the box; nil if they fit, or no division that is tried does. It tries every set of feature
// groups on GPUs, if these are at most 31. Otherwise it sorts the groups by their reads of a row, drops each
// that does not fit behind those before it, and tries beginnings of this list at equal distances: 31, or
// fewer on more than 16 ranks.
//
// Cost: up to 32 simulations.
func Divide(ctx context.Context, j *Job, o Options) (*Division, error) {
	_, groups := j.Workload.GroupsByPlace(&j.Job)
	if _, _, fits := j.divided(groups, indices(len(groups))); fits {
		return nil, nil
	}
	most := min(max(ranksTried/j.Roles.Ranks, divisionsLeast), cmp.Or(o.Divisions, divisionsMost))
	divisions := divisionsOf(groups, most, func(onGPUs []int) bool {
		_, _, fits := j.divided(groups, onGPUs)
		return fits
	})
	if len(divisions) == 0 {
		return nil, nil
	}
	rates := make([]float64, len(divisions)+1) // the last with all rows on PSs
	err := o.each(ctx, len(rates), o.counter(len(rates)), func(i int) (err error) {
		tried := *j
		if tried.Job = j.WithRowsOnPSs(); i < len(divisions) {
			tried.Job, _, _ = j.divided(groups, divisions[i])
		}
		r, err := o.run(ctx, &tried, o.Seed)
		if rates[i] = r.Throughput; DoesNotFit(err) {
			rates[i], err = 0, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	fastest := slices.Index(rates, slices.Max(rates[:len(divisions)]))
	if rates[fastest] == 0 {
		return nil, nil
	}
	d := &Division{OnPSs: slotsBeside(groups, divisions[fastest]), Rate: rates[fastest],
		RateOnPSs: rates[len(divisions)], toPSs: allOnPSs(&j.Job)}
	if _, capacity, _ := j.divided(groups, divisions[fastest]); capacity < j.RowsConfig().Most() {
		d.Capacity = capacity
	}
	if rule, err := j.Rule(); err == nil && !rule.InStep() {
		d.stale = ", whose reads are then stale"
	}
	d.count(groups, divisions[fastest])
	return d, nil
}

// Of returns a job with the rows of its slots where the division has them.
func (d *Division) Of(j *Job) *Job {
	divided := *j
	divided.Job = j.WithSlotsOnPSs(d.OnPSs)
	if d.Capacity > 0 {
		divided.Job.Rows.Capacity, divided.Job.Rows.Memory = d.Capacity, 0
	}
	return &divided
}

// divided returns the job with the rows of some feature groups on GPUs and those of the others on PSs, and
// with as many rows a GPU as the job allows and there is memory for; and whether the rows fit.
func (j *Job) divided(groups []cost.GroupRows, onGPUs []int) (t job.Job, capacity int, fit bool) {
	t = j.WithSlotsOnPSs(slotsBeside(groups, onGPUs))
	t.Rows.Capacity, t.Rows.Memory = j.RowsConfig().Most(), 0
	capacity = cost.RowsPerGPU(j.Hardware.Resolve(), &t, j.Layout, &j.Workload)
	t.Rows.Capacity = capacity
	rows := 0.0
	for _, i := range onGPUs {
		rows += groups[i].Created
	}
	return t, capacity, rows <= float64(capacity)*float64(j.Roles.Ranks)
}

// divisionsOf returns at most a number of divisions of feature groups, each as the indices of those on GPUs,
// that fit: see Divide. All rows have the same size, so the groups with the most reads of a row are also
// those with the most reads of a byte.
func divisionsOf(groups []cost.GroupRows, most int, fit func(onGPUs []int) bool) (all [][]int) {
	order := indices(len(groups))
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(groups[b].Named*groups[a].Created, groups[a].Named*groups[b].Created)
	})
	if len(order) >= bits.Len(uint(most+1)) { // more sets than may be tried
		var on []int
		for _, i := range order {
			if longer := append(slices.Clone(on), i); fit(longer) {
				on = longer
			}
		}
		n := min(len(on), most)
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
		if fit(on) {
			all = append(all, on)
		}
	}
	return all
}

// indices returns the numbers below n.
func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// allOnPSs says how a job with rows on GPUs has all rows on PSs.
func allOnPSs(j *job.Job) string {
	var parts []string
	if j.Rows.Placement == job.RowsOnGPU {
		parts = append(parts, "rows.placement: "+job.RowsOnPSs)
	}
	onGPU := func(s job.SlotSetting) bool { return s.Placement == job.RowsOnGPU }
	if slices.ContainsFunc(j.Data.Slots, onGPU) {
		parts = append(parts, "without placement: "+job.RowsOnGPU+" in data.slots")
	}
	if j.Rows.Capacity > 0 {
		parts = append(parts, "without rows.capacity")
	}
	if j.Rows.Memory > 0 {
		parts = append(parts, "without rows.memory")
	}
	return strings.Join(parts, ", ")
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

// Setting says what to set for the division, and what is then on GPUs.
func (d *Division) Setting() string {
	leave := fmt.Sprintf("leave %s to PSs (placement: %s in data.slots)", strings.Join(d.OnPSs, ", "),
		job.RowsOnPSs)
	if d.Capacity > 0 {
		leave += fmt.Sprintf(" and set rows.capacity to %d", d.Capacity)
	}
	return leave + fmt.Sprintf(", for %.0f rows with %.0f %% of the reads on GPUs", d.Rows, 100*d.Reads)
}

// Instead says what is predicted where all rows are on PSs and, if that is faster, what to set for it.
func (d *Division) Instead() string {
	all := rateText(d.RateOnPSs) + " samples/s with all rows on PSs"
	switch {
	case d.RateOnPSs == 0:
		return "the rows of all slots do not fit the PSs"
	case d.RateOnPSs >= d.Rate:
		return fmt.Sprintf("%s (%s)%s, which is faster", all, d.toPSs, d.stale)
	default:
		return all + d.stale
	}
}

// String says what to set, and what is predicted of it.
func (d *Division) String() string {
	leave := fmt.Sprintf("%s: %s samples/s", d.Setting(), rateText(d.Rate))
	if d.RateOnPSs >= d.Rate {
		return fmt.Sprintf("by predicted rates, leave all rows to PSs (%s)%s: %s samples/s; the best with "+
			"rows on GPUs is to %s", d.toPSs, d.stale, rateText(d.RateOnPSs), leave)
	}
	return "by predicted rates, " + leave + "; " + d.Instead()
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
// its slots does, this error with the fastest. An error of Divide is left out: the prediction has failed
// already. Cost: that of Divide.
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
