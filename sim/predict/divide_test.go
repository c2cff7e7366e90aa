package predict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/sim/cost"
)

// divided returns a job of four ranks with a table for each of some groups of rows, and room for a number of
// rows on each GPU.
func divided(t *testing.T, groups []cost.GroupRows, capacity int) *Job {
	t.Helper()
	c := job.PersiaCluster()
	c.SetAccelerator("H100-SXM5")
	c.System = "tandem"
	h, _, err := cost.Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	j := job.Default()
	j.Training.Mode, j.Roles.Ranks, j.Training.GlobalBatch, j.Training.Groups = job.Sync, 4, 4096, 4
	j.Rows.Placement, j.Rows.Capacity, j.Model.Device.CUDA = job.RowsOnGPU, capacity, true
	w := cost.Workload{Slots: len(groups), Labels: 1, RowDim: j.Model.Dim(), RowBytes: 64, RowState: 64,
		Groups: groups, Trained: 1e6}
	schema := &batch.Schema{Dense: []string{"x"}, Labels: []string{"y"}}
	for _, g := range groups {
		w.Occurrences, w.Rows, w.Created = w.Occurrences+g.Occurrences, w.Rows+g.Rows, w.Created+g.Created
		schema.Slots = append(schema.Slots, batch.Slot{Name: g.Slots[0], Dim: j.Model.Dim()})
	}
	w.Distinct = func(samples int) (sum float64) {
		for _, g := range groups {
			sum += g.Distinct(samples)
		}
		return sum
	}
	layout, err := model.LayoutOf(j.Model.Spec, schema)
	if err != nil {
		t.Fatal(err)
	}
	return &Job{Job: j, Hardware: h, Workload: w, Layout: layout}
}

// table returns the rows of a slot with a number of ids a sample and of rows, equally frequent.
func table(name string, ids, rows float64) cost.GroupRows {
	return cost.GroupRows{Slots: []string{name}, Occurrences: ids, Named: ids, Rows: rows, Created: rows,
		Width: 16, Distinct: func(samples int) float64 {
			return -rows * math.Expm1(float64(samples)*ids*math.Log1p(-1/rows))
		}}
}

// bruteForce returns the fastest division of the tables of a job, and its rate, by predicting each with
// placements that are written by hand.
func bruteForce(t *testing.T, j *Job, capacity int) (onPSs []string, rate float64) {
	t.Helper()
	n := len(j.Workload.Groups)
	for set := 1; set < 1<<n-1; set++ { // of the tables on PSs: some, and not all
		tried, rows, names := *j, 0.0, []string(nil)
		tried.Job.Rows.Capacity, tried.Job.Data.Slots = capacity, nil
		for i, g := range j.Workload.Groups {
			if set>>i&1 == 0 {
				rows += g.Rows
				continue
			}
			own := job.SlotSetting{Slot: g.Slots[0], Placement: job.RowsOnPSs}
			tried.Job.Data.Slots, names = append(tried.Job.Data.Slots, own), append(names, g.Slots[0])
		}
		if rows > float64(4*capacity) {
			continue
		}
		p, err := Run(context.Background(), &tried, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Mid.Throughput > rate {
			onPSs, rate = names, p.Mid.Throughput
		}
	}
	return onPSs, rate
}

// Of jobs with up to five tables, the division is the best of all that fit. Beside it is the rate with all
// rows on PSs.
func TestDivisionIsTheFastestOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for range 4 {
		var groups []cost.GroupRows
		for i := range 3 + r.IntN(3) {
			groups = append(groups, table(fmt.Sprint("t", i), float64(1+r.IntN(20)),
				math.Round(math.Pow(10, 3+3*r.Float64()))))
		}
		all := 0.0
		for _, g := range groups {
			all += g.Rows
		}
		j := divided(t, groups, int(all/8))
		want, rate := bruteForce(t, j, int(all/8))
		d, err := Divide(context.Background(), j, Options{})
		if err != nil || rate == 0 {
			t.Fatal(err, rate)
		}
		slices.Sort(want)
		slices.Sort(d.OnPSs)
		if d.Rate != rate || !slices.Equal(d.OnPSs, want) || d.Capacity != 0 {
			t.Errorf("%v: %+v, want %v with %v", groups, d, want, rate)
		}
		p, err := Run(context.Background(), d.Of(j), Options{})
		if err != nil || p.Mid.Throughput != d.Rate {
			t.Errorf("the divided job has %v samples/s, %v; want %v", p.Mid.Throughput, err, d.Rate)
		}
		j.Job.Rows.Placement, j.Job.Rows.Capacity = "", 0
		p, err = Run(context.Background(), j, Options{})
		if err != nil || p.Mid.Throughput != d.RateOnPSs {
			t.Errorf("%v with all rows on PSs, %v; want %v", d.RateOnPSs, err, p.Mid.Throughput)
		}
	}
}

// roomFor reports whether groups fit a number of rows.
func roomFor(groups []cost.GroupRows, room float64) func([]int) bool {
	return func(onGPUs []int) bool {
		rows := 0.0
		for _, i := range onGPUs {
			rows += groups[i].Created
		}
		return rows <= room
	}
}

// Room for 95 rows. In the order of reads a row are tags (3 of 10), history (9 of 90), user (4 of 60), item
// (1 of 50), and four tables of 100 rows that fit nowhere: history does not fit behind tags, and item not
// behind both, so the list is tags, user.
func TestDivisionsOfManyGroupsFollowTheirReads(t *testing.T) {
	groups := []cost.GroupRows{table("user", 4, 60), table("item", 1, 50), table("history", 9, 90),
		table("tags", 3, 10)}
	for i := range 4 {
		groups = append(groups, table(fmt.Sprint("large", i), 0.5, 100))
	}
	all := divisionsOf(groups, divisionsMost, roomFor(groups, 95))
	if len(all) != 2 || !slices.Equal(all[0], []int{3, 0}) || !slices.Equal(all[1], []int{3}) {
		t.Errorf("divisions %v", all)
	}
	groups = nil
	for i := range 100 {
		groups = append(groups, table(fmt.Sprint("t", i), float64(100-i), 10))
	}
	all = divisionsOf(groups, divisionsMost, roomFor(groups, 1000))
	if len(all) != divisionsMost || len(all[0]) != 100 || len(all[30]) != 3 || all[5][7] != 7 {
		t.Errorf("%d divisions of 100 tables: %v", len(all), all)
	}
}

// Room for 400 rows. In the order of reads a row are b (2 of 10), c (8 of 100), a (20 of 300), d (6 of 200),
// e (1 of 90) and f (0.5 of 350): a does not fit behind c, and e just fits behind d. The division is the
// fastest of the beginnings of b, c, d, e: by any other order, and with less room, it is another one.
func TestDivisionOfManyTables(t *testing.T) {
	groups := []cost.GroupRows{table("a", 20, 300), table("b", 2, 10), table("c", 8, 100), table("d", 6, 200),
		table("e", 1, 90), table("f", 0.5, 350)}
	j := divided(t, groups, 100)
	want, rate := "", 0.0
	for _, onPSs := range []string{"a f", "a e f", "a d e f", "a c d e f"} {
		tried := *j
		tried.Job = j.WithSlotsOnPSs(strings.Fields(onPSs))
		p, err := Run(context.Background(), &tried, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Mid.Throughput > rate {
			want, rate = onPSs, p.Mid.Throughput
		}
	}
	d, err := Divide(context.Background(), j, Options{})
	if err != nil || d == nil {
		t.Fatal(d, err)
	}
	if got := strings.Join(d.OnPSs, " "); got != want || d.Rate != rate || want != "a f" {
		t.Errorf("%s on PSs: %v samples/s; want %s with %v", got, d.Rate, want, rate)
	}
	if d, err = Divide(context.Background(), j, Options{Divisions: 1}); err != nil ||
		strings.Join(d.OnPSs, " ") != "a f" {
		t.Errorf("of one that is tried, %v, %v", d, err)
	}
}

// Where everything fits, or no table does, there is nothing to divide.
func TestNothingToDivide(t *testing.T) {
	groups := []cost.GroupRows{table("a", 2, 1000), table("b", 1, 2000)}
	for capacity, want := range map[int]bool{750: false, 749: true, 250: true, 249: false} {
		d, err := Divide(context.Background(), divided(t, groups, capacity), Options{})
		if err != nil || (d != nil) != want {
			t.Errorf("room for %d rows: %v, %v", 4*capacity, d, err)
		}
	}
}

// An error about GPUs that are too small says what to leave to PSs, with the rates of both ways; the faster
// comes first. Other errors stay as they are.
func TestErrorsSayWhatToLeaveToPSs(t *testing.T) {
	ctx := context.Background()
	j := divided(t, []cost.GroupRows{table("a", 200, 1000), table("b", 1, 20_000)}, 1000)
	_, err := Run(ctx, j, Options{})
	if err = WithDivision(ctx, j, Options{}, err); err == nil || !errors.Is(err, cost.ErrGPUMemory) ||
		!strings.Contains(err.Error(), "; by predicted rates, leave b to PSs (placement: ps in data.slots), "+
			"for 1000 rows with 100 % of the reads on GPUs: ") ||
		!strings.Contains(err.Error(), " samples/s with all rows on PSs") {
		t.Errorf("error %v", err)
	}
	slow := *j
	slow.Hardware = j.Hardware.Clone()
	slow.Hardware.Accelerator.Launch.Mid *= 1000
	err = WithDivision(ctx, &slow, Options{}, err)
	if text := err.Error(); !strings.Contains(text, "leave all rows to PSs (rows.placement: ps, without "+
		"rows.capacity): ") || !strings.Contains(text, "on GPUs is to leave b") {
		t.Errorf("slow GPUs: %v", err)
	}
	bySlot := slow
	bySlot.Job = j.WithSlotsOnPSs(nil)
	bySlot.Job.Rows.Placement, bySlot.Job.Training.Mode = "", job.Hybrid
	bySlot.Job.Rows.Memory = 1 << 30
	for _, slot := range []string{"a", "b"} {
		bySlot.Job.Data.Slots = append(bySlot.Job.Data.Slots,
			job.SlotSetting{Slot: slot, Placement: job.RowsOnGPU})
	}
	_, err = Run(ctx, &bySlot, Options{})
	err = WithDivision(ctx, &bySlot, Options{}, err)
	if text := err.Error(); !strings.Contains(text, "leave all rows to PSs (without placement: gpu in "+
		"data.slots, without rows.capacity, without rows.memory), whose reads are then stale: ") {
		t.Errorf("by slot: %v", err)
	}
	other := errors.New("other")
	if got := WithDivision(ctx, j, Options{}, other); got != other {
		t.Errorf("error %v", got)
	}
	j.Job.Rows.Capacity = 1_000_000_000
	j.Workload.Groups[1] = table("b", 1, 8e9)
	j.Workload.Rows, j.Workload.Created = 8e9+1000, 8e9+1000
	_, err = Run(ctx, j, Options{})
	if err = WithDivision(ctx, j, Options{}, err); err == nil || !strings.Contains(err.Error(),
		" and set rows.capacity to ") {
		t.Errorf("error %v", err)
	}
	d, err := Divide(ctx, j, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Run(ctx, d.Of(j), Options{}); err != nil || p.Mid.Throughput != d.Rate {
		t.Errorf("the divided job has %v samples/s, %v; want %v", p, err, d.Rate)
	}
}

// Rates have three digits.
func TestRatesHaveThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{1_234_567: "1230000", 999.6: "1000", 12: "12", 99_960: "100000"} {
		if got := rateText(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}

// What a division leaves to PSs takes no memory of GPUs for its batches: here these alone do not fit.
func TestDivisionsHaveTheRoomOfTheirOwnSlots(t *testing.T) {
	j := divided(t, []cost.GroupRows{table("user", 1, 1000), table("history", 500, 3e6)}, 2000)
	j.Job.Roles.Ranks, j.Job.Training.GlobalBatch = 1, 3_000_000
	_, err := Run(context.Background(), j, Options{})
	if err == nil {
		t.Fatal("the batch fits")
	}
	d, err := Divide(context.Background(), j, Options{})
	if err != nil || d == nil || !slices.Equal(d.OnPSs, []string{"history"}) || d.Rate == 0 {
		t.Errorf("%+v, %v", d, err)
	}
}
