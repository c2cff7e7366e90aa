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
	numbers := make([]map[uint64]int32, len(set.Schema.Slots)) // of ids, by column
	for slot := range numbers {
		numbers[slot] = map[uint64]int32{}
	}
	features := int32(0)
	var parts [2]oneHot
	for i, rows := range []*batch.Batch{set.Train, set.Test} {
		parts[i] = encode(rows, numbers, &features, i == 0)
	}
	for i, rows := range []*batch.Batch{set.Train, set.Test} {
		sizes := []int32{int32(rows.Samples), int32(len(parts[i].features)), int32(len(set.Schema.Dense)),
			features}
		for _, values := range []any{sizes, parts[i].offsets, parts[i].features, rows.Dense, rows.Labels} {
			if err := binary.Write(w, binary.LittleEndian, values); err != nil {
				return err
			}
		}
	}
	return errors.Join(w.Flush(), out.Close())
}

// oneHot are the features of rows: those of row i are features[offsets[i]:offsets[i+1]].
type oneHot struct{ offsets, features []int32 }

// encode numbers the ids of rows. An id that training rows lack is no feature, so test rows leave it out.
func encode(rows *batch.Batch, numbers []map[uint64]int32, features *int32, training bool) oneHot {
	hot := oneHot{offsets: []int32{0}}
	for i := range rows.Samples {
		for slot := range rows.Slots {
			for _, id := range rows.Slots[slot].SampleIDs(i) {
				number, known := numbers[slot][id]
				if !known && !training {
					continue
				}
				if !known {
					number = *features
					numbers[slot][id] = number
					*features++
				}
				hot.features = append(hot.features, number)
			}
		}
		hot.offsets = append(hot.offsets, int32(len(hot.features)))
	}
	return hot
}
