package system

import (
	"fmt"
	"os"
	"text/tabwriter"

	"tandem/algo/unit"
)

// Core time on the machine on which most prices were measured, at the worst end, the middle and the best end
// of all ranges, to hold against the sources of a profile.
func Example() {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, name := range []string{"persia-2021", "tandem"} {
		p, err := Load(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		huge := 0.0 // pages of malloc
		if name == "tandem" {
			huge = 1
		}
		host, overhead := reference(huge), int(p.EmbeddingPS.Overhead.Mid)
		w, s := &p.EmbeddingWorker, &p.EmbeddingPS
		line := func(what string, v price) {
			fmt.Fprintf(out, "%s\t%v\t%v\t%v\n", what, unit.Nanos(v[0]), unit.Nanos(v[1]), unit.Nanos(v[2]))
		}
		fmt.Fprintf(out, "%s\tworst\tmiddle\tbest\n", name)
		line("loader, an id", priced(func(x float64) float64 { return float64(p.Loader.IDTime.At(x)) }))
		line("EW, an id", priced(func(x float64) float64 { return float64(w.IDTime.At(x)) }))
		for _, dim := range []int{16, 128} {
			line(fmt.Sprintf("EW, a pooled id of %d values", dim), w.poolPrice(dim))
			line(fmt.Sprintf("EW, a merged id of %d values", dim), w.mergePrice(dim))
			line(fmt.Sprintf("PS, a read of %d values", dim), rowPrice(&s.Read, host, 1e7, dim, overhead))
			line(fmt.Sprintf("PS, an update of %d values", dim),
				rowPrice(&s.Update, host, 1e7, dim, overhead))
		}
		line("an end of a message", priced(func(x float64) float64 { return float64(p.Messages.Time.At(x)) }))
		line("an end of 1,000 bytes", priced(func(x float64) float64 {
			return 1000 * float64(p.Messages.ByteTime.At(x))
		}))
		fmt.Fprintln(out)
	}
	_ = out.Flush()
	// Output:
	// persia-2021                    worst    middle   best
	// loader, an id                  75ns     58ns     50ns
	// EW, an id                      21ns     9.5ns    8ns
	// EW, a pooled id of 16 values   60.4ns   49.6ns   43.2ns
	// EW, a merged id of 16 values   37.8ns   30.4ns   24ns
	// PS, a read of 16 values        1.923us  1.522us  1.158us
	// PS, an update of 16 values     2.047us  1.578us  1.154us
	// EW, a pooled id of 128 values  441.2ns  396.8ns  345.6ns
	// EW, a merged id of 128 values  183.4ns  159.2ns  136ns
	// PS, a read of 128 values       2.41us   1.868us  1.373us
	// PS, an update of 128 values    3.395us  2.316us  1.347us
	// an end of a message            50us     20us     8us
	// an end of 1,000 bytes          1.3us    0.5us    150ns
	//
	// tandem                         worst    middle   best
	// loader, an id                  55ns     16ns     8ns
	// EW, an id                      11ns     8.5ns    7ns
	// EW, a pooled id of 16 values   9.56ns   5.5ns    3.06ns
	// EW, a merged id of 16 values   37.72ns  28.92ns  24ns
	// PS, a read of 16 values        77.18ns  59.19ns  36.17ns
	// PS, an update of 16 values     95.64ns  74.32ns  41.37ns
	// EW, a pooled id of 128 values  55.48ns  33.5ns   20.98ns
	// EW, a merged id of 128 values  84.76ns  70.36ns  52ns
	// PS, a read of 128 values       172ns    137.6ns  63.57ns
	// PS, an update of 128 values    276.3ns  226.4ns  91.17ns
	// an end of a message            34us     15us     1us
	// an end of 1,000 bytes          0.3us    0.1us    10ns
}
