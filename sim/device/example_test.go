package device_test

import (
	"fmt"

	"tandem/algo/unit"
	"tandem/sim/device"
)

// How the time of one dependent access, in nanoseconds, grows with the table on one host: from a cache hit
// over a miss to walks of page tables that miss the cache too.
func ExampleHost_Access() {
	sizes := []float64{0.2e12, 0.5e12, 1e12, 2e12, 4e12, 8e12, 11.7e12}
	fmt.Print("TB                ")
	for _, size := range sizes {
		fmt.Printf("%6.1f", size/1e12)
	}
	for _, name := range []string{"xeon-52-core-480gb", "zionex", "dgx-a100", "dgx-h100", "m2-ultramem-416"} {
		p, err := device.LoadHost(name)
		if err != nil {
			panic(err)
		}
		h := p.Resolve(0)
		fmt.Printf("\n%-18s", name)
		for _, size := range sizes {
			if unit.Bytes(size) <= h.Memory {
				fmt.Printf("%6.0f", h.Access(unit.Bytes(size)).Time*1e9)
			}
		}
	}
	// Output:
	// TB                   0.2   0.5   1.0   2.0   4.0   8.0  11.7
	// xeon-52-core-480gb   172
	// zionex               228   232   234
	// dgx-a100             251   255   270   306
	// dgx-h100             284   293   296   297
	// m2-ultramem-416      345   353   358   391   478   558   589
}
