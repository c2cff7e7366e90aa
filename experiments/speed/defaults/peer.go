package defaults

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // of scikit-learn's side
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tandem/algo/numeric/batch"
	"tandem/datasets"
)

//go:embed peer.py
var peerScript string

// peer is a logistic regression of scikit-learn.
type peer struct {
	Sklearn    string  `json:"sklearn"`
	Python     string  `json:"python"`
	Seconds    float64 `json:"seconds"` // of fitting
	Iterations int     `json:"iterations"`

	predicted []float32 // for the test rows
}

// peerModules are the modules of the peer.
const peerModules = "numpy, scipy, sklearn"

// fit trains the peer on the training rows of a data set, and predicts its test rows.
func fit(ctx context.Context, python string, set *datasets.Dataset) (*peer, error) {
	folder, err := os.MkdirTemp("", "tandem-defaults-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	rows, predictions := filepath.Join(folder, "rows"), filepath.Join(folder, "predictions")
	if err := writeRows(rows, set); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, python, "-c", peerScript, rows, predictions)
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("scikit-learn: %w: %s", err, problems.String())
	}
	p := &peer{}
	if err := json.Unmarshal(out, p); err != nil {
		return nil, fmt.Errorf("scikit-learn: %q: %w", out, err)
	}
	text, err := os.ReadFile(predictions)
	if err != nil {
		return nil, err
	}
	exact := make([]float64, len(text)/8)
	if err := binary.Read(bytes.NewReader(text), binary.LittleEndian, exact); err != nil {
		return nil, err
	}
	for _, probability := range exact {
		p.predicted = append(p.predicted, float32(probability))
	}
	return p, nil
}

// writeRows writes the training and the test rows, as peer.py reads them.
func writeRows(name string, set *datasets.Dataset) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	numbers := map[feature]int32{}
	offsets, features := encode(set.Train, numbers, true)
	testOffsets, testFeatures := encode(set.Test, numbers, false)
	sizes := func(rows *batch.Batch, features []int32) []int32 {
		return []int32{int32(rows.Samples), int32(len(features)), int32(len(set.Schema.Dense)),
			int32(len(numbers))}
	}
	for _, values := range []any{
		sizes(set.Train, features), offsets, features, set.Train.Dense, set.Train.Labels,
		sizes(set.Test, testFeatures), testOffsets, testFeatures, set.Test.Dense, set.Test.Labels,
	} {
		if err := binary.Write(w, binary.LittleEndian, values); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), out.Close())
}

// feature is an id of a column, one-hot.
type feature struct {
	column int
	id     uint64
}

// encode returns the numbers of the features of rows: those of row i are features[offsets[i]:offsets[i+1]]. A
// feature that training rows lack has no number, so test rows leave it out.
func encode(rows *batch.Batch, numbers map[feature]int32, training bool) (offsets, features []int32) {
	offsets = []int32{0}
	for i := range rows.Samples {
		for column := range rows.Slots {
			for _, id := range rows.Slots[column].SampleIDs(i) {
				f := feature{column, id}
				number, known := numbers[f]
				if !known && training {
					number, known = int32(len(numbers)), true
					numbers[f] = number
				}
				if known {
					features = append(features, number)
				}
			}
		}
		offsets = append(offsets, int32(len(features)))
	}
	return offsets, features
}
