package synth

import (
	"reflect"
	"testing"

	"tandem/algo/job"
)

// Any number of goroutines gives the bits of one, across chunks of rows and with columns of
// several ids.
func TestMoreGoroutinesChangeNothing(t *testing.T) {
	spec := testSpec()
	spec.TrainRows, spec.TestRows = 2*chunkRows+77, 5
	spec.Columns[1].IDsPerRow = 1.5
	spec.Conversion = &job.SyntheticConversion{Rate: 0.3, Shared: 0.5}
	alone, err := generate(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{2, 3, 16} {
		if several, _ := generate(spec, workers); !reflect.DeepEqual(several, alone) {
			t.Errorf("%d goroutines: other data", workers)
		}
	}
	spec.TrainRows = chunkRows + 1
	fewer, _ := generate(spec, 2)
	for c, slot := range fewer.Train.Slots {
		if n := len(slot.IDs); !reflect.DeepEqual(slot.IDs, alone.Train.Slots[c].IDs[:n]) ||
			!reflect.DeepEqual(slot.Offsets, alone.Train.Slots[c].Offsets[:spec.TrainRows+1]) {
			t.Errorf("column %d: fewer rows are not the first", c)
		}
	}
}
