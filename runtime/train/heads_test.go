package train

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tandem/algo/numeric/batch"
)

// Three rows of two labels. The first label is ranked perfectly (AUC 1). The one positive of the second label
// is ranked above one of two negatives (AUC ½).
func TestHeadsMeasureEveryLabel(t *testing.T) {
	test := &batch.Batch{Samples: 3, Labels: []float32{1, 0, 0, 1, 0, 0}}
	heads := Heads("", []float32{0.9, 0.1, 0.2, 0.4, 0.1, 0.6}, []string{"click", "buy"}, test)
	if len(heads) != 2 || heads[0].Label != "click" || heads[0].AUC != 1 || heads[1].Label != "buy" ||
		heads[1].AUC != 0.5 {
		t.Errorf("heads %+v", heads)
	}
	if want := []float32{0.1, 0.4, 0.6}; !slices.Equal(heads[1].Probabilities, want) {
		t.Errorf("predicted %v, want %v", heads[1].Probabilities, want)
	}
}

func TestLabelOfOneClassIsNamed(t *testing.T) {
	labels := []string{"click", "buy"}
	if err := checkLabels("", labels, &batch.Batch{Samples: 2, Labels: []float32{0, 1, 1, 0}}); err != nil {
		t.Error(err)
	}
	err := checkLabels("", labels, &batch.Batch{Samples: 2, Labels: []float32{0, 0, 1, 0}})
	if !errors.Is(err, errOneClass) || !strings.HasPrefix(err.Error(), "label buy: ") {
		t.Error(err)
	}
}
