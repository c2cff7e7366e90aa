package defaults

import (
	"bytes"
	"context"
	_ "embed" // of the script
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/datasets"
	"tandem/internal/cli"
)

//go:embed peer.py
var peerScript string

// peer is a classifier of another library.
type peer struct {
	Name    string  `json:"name"` // of its module
	Version string  `json:"version"`
	Seconds float64 `json:"seconds"` // of fitting and predicting
	AUC     float64 `json:"auc"`
	LogLoss float64 `json:"log_loss"`

	Predicted []float32 `json:"predicted,omitempty"`
}

// allPeers are the libraries that may be compared with.
var allPeers = []string{"sklearn", "lightgbm", "catboost"}

// modulesFor returns the modules without which nothing is compared with libraries: LightGBM and CatBoost read
// tables of pandas. They are themselves left out where they are not installed.
func modulesFor(libraries []string) string {
	const modules = "numpy, scipy, sklearn"
	if slices.ContainsFunc(libraries, func(name string) bool { return name != "sklearn" }) {
		return modules + ", pandas"
	}
	return modules
}

// fit trains the classifiers of other libraries on the training rows of a data set, and predicts its test
// rows.
func fit(ctx context.Context, python string, libraries []string, set *datasets.Dataset) ([]peer, error) {
	folder, err := os.MkdirTemp("", "tandem-defaults-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	text, err := columnsFor(set)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(folder, "columns.json")
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, python, append([]string{"-c", peerScript, name}, libraries...)...)
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", python, err, problems.String())
	}
	var fitted []peer
	if err := json.Unmarshal(out, &fitted); err != nil {
		return nil, fmt.Errorf("%s: %.300q: %w", python, out, err)
	}
	if len(fitted) == 0 {
		return nil, &cli.Error{Err: fmt.Errorf("%s has none of %s", python, strings.Join(libraries, ", ")),
			Hint: "name an interpreter that has one by --python, or others by --libraries"}
	}
	return fitted, nil
}

// columns are rows for the script, column by column. A list of ids is one category.
type columns struct {
	Labels  []float32   `json:"labels"`
	Numbers [][]float32 `json:"numbers"`
	IDs     [][]int     `json:"ids"`
}

// columnsFor returns the rows of a data set as the script reads them.
func columnsFor(set *datasets.Dataset) ([]byte, error) {
	known := make([]map[uint64]int, len(set.Schema.Slots))
	return json.Marshal(map[string]columns{"train": columnsOf(set.Train, known),
		"test": columnsOf(set.Test, known)})
}

// columnsOf returns the columns of rows. known numbers the categories of every slot.
func columnsOf(rows *batch.Batch, known []map[uint64]int) columns {
	c := columns{Labels: batch.Column(rows.Labels, len(rows.Labels)/rows.Samples, 0),
		Numbers: [][]float32{}, IDs: [][]int{}}
	n := len(rows.Dense) / rows.Samples
	for i := range n {
		c.Numbers = append(c.Numbers, batch.Column(rows.Dense, n, i))
	}
	for s, slot := range rows.Slots {
		if known[s] == nil {
			known[s] = map[uint64]int{}
		}
		ids := make([]int, rows.Samples)
		for row := range ids {
			whole := uint64(0)
			for _, id := range slot.SampleIDs(row) {
				whole = rng.Mix(whole ^ id)
			}
			if _, seen := known[s][whole]; !seen {
				known[s][whole] = len(known[s])
			}
			ids[row] = known[s][whole]
		}
		c.IDs = append(c.IDs, ids)
	}
	return c
}
