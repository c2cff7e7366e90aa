package defaults

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // of scikit-learn's side
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

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
}

// peerModules are the modules of the peer.
const peerModules = "numpy, scipy, sklearn"

// fit trains the peer on the training rows of a data set, and predicts its test rows.
func fit(ctx context.Context, python string, set *datasets.Dataset) (*peer, []float32, error) {
	folder, err := os.MkdirTemp("", "tandem-defaults-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(folder)
	train, test, known := filepath.Join(folder, "train"), filepath.Join(folder, "test"), map[feature]int{}
	err = errors.Join(writeRows(train, set.Train, known, true), writeRows(test, set.Test, known, false))
	if err != nil {
		return nil, nil, err
	}
	command := exec.CommandContext(ctx, python, "-c", peerScript, train, test)
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("scikit-learn: %w: %s", err, problems.String())
	}
	var fitted struct {
		peer
		Predicted []float32
	}
	if err := json.Unmarshal(out, &fitted); err != nil {
		return nil, nil, fmt.Errorf("scikit-learn: %.300q: %w", out, err)
	}
	return &fitted.peer, fitted.Predicted, nil
}

// feature is an id of a column.
type feature struct {
	column int
	id     uint64
}

// writeRows writes rows in the format of svmlight: the numbers, then the ids, one-hot. Training rows
// number the ids from the last number on. An id that they lack has no number, so test rows leave it out.
func writeRows(name string, rows *batch.Batch, known map[feature]int, training bool) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	numbers := len(rows.Dense) / rows.Samples
	for i := range rows.Samples {
		fmt.Fprint(w, rows.Labels[i])
		for n, v := range rows.Dense[i*numbers:][:numbers] {
			fmt.Fprintf(w, " %d:%v", n, v)
		}
		var hot []int
		for column := range rows.Slots {
			for _, id := range rows.Slots[column].SampleIDs(i) {
				f := feature{column, id}
				if _, seen := known[f]; !seen && training {
					known[f] = numbers + len(known)
				}
				if at, seen := known[f]; seen {
					hot = append(hot, at)
				}
			}
		}
		slices.Sort(hot)
		for _, at := range slices.Compact(hot) {
			fmt.Fprintf(w, " %d:1", at)
		}
		fmt.Fprintln(w)
	}
	return errors.Join(w.Flush(), out.Close())
}
