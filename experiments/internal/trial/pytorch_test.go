package trial

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/datasets"
	"tandem/experiments/internal/report"
)

// peerCase is what sequential.py needs to know.
type peerCase struct {
	Slots       int     `json:"slots"`
	Numbers     int     `json:"numbers"`
	IDs         int     `json:"ids"`
	Dim         int     `json:"dim"`
	Top         []int   `json:"top"`
	Init        float64 `json:"init"`
	Accumulator float64 `json:"accumulator"`
	DenseRate   float64 `json:"dense_rate"`
	RowRate     float64 `json:"row_rate"`
	Steps       []int   `json:"steps"` // samples of each global batch
}

// Sequential training, the reference of all modes, reaches the AUC of PyTorch with the same network, initial
// dense parameters, order of samples and optimizers. Initial rows differ, so the interval of the differences
// over seeds must hold 0, and the mean must lie in the interval of PyTorch's.
func TestSequentialReachesTheAUCOfPyTorch(t *testing.T) {
	python := cmp.Or(os.Getenv("TANDEM_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import torch, numpy").Run(); err != nil {
		t.Skipf("set TANDEM_PYTHON to a Python interpreter with torch and numpy: %s: %v", python, err)
	}
	for _, set := range []report.DataSet{report.AdultIncome(), report.Frappe()} {
		t.Run(set.Name, func(t *testing.T) {
			folder := os.Getenv("TANDEM_DATA")
			if err := set.Check(folder); err != nil {
				t.Skip(err)
			}
			var ours []float64
			var folders []string
			open := newCache(report.Options{DataFolder: folder})
			for seed := range uint64(5) {
				j := peerJob(set, seed+1)
				r, _, err := run(t.Context(), &Spec{Job: j, Part: Test}, open, backend.Backend{})
				if err != nil {
					t.Fatal(err)
				}
				ours = append(ours, r.AUC)
				data, err := open.open(j.Data)
				if err != nil {
					t.Fatal(err)
				}
				folders = append(folders, writePeerCase(t, &j, data))
			}
			data, err := open.open(set.WithSeed(1))
			if err != nil {
				t.Fatal(err)
			}
			theirs := peerAUCs(t, python, folders, data.Test.Labels)
			t.Logf("Tandem %.5f, PyTorch %.5f", ours, theirs)
			difference := metric.MeanInterval(report.Differences(ours, theirs))
			seeds, mean := metric.MeanInterval(theirs), metric.MeanInterval(ours).Estimate
			if difference.Low > 0 || difference.High < 0 || mean < seeds.Low || mean > seeds.High {
				t.Errorf("AUC %.5f; PyTorch's is %.5f to %.5f; the difference %+.5f to %+.5f", mean,
					seeds.Low,
					seeds.High, difference.Low, difference.High)
			}
		})
	}
}

// peerJob returns a job of which PyTorch has every part: its Adagrad adds a square before it divides, and
// bounds no values.
func peerJob(set report.DataSet, seed uint64) job.Job {
	j := job.Default().InMode(job.Sequential)
	j.Data = set.WithSeed(seed)
	j.Model.Spec = model.Spec{
		Kind: model.FeedForward, EmbeddingDim: 8, Top: []int{64, 32}, Activation: model.ReLU,
	}
	j.Model.Optimizer = opt.DefaultDense()
	j.Rows.Optimizer.Kind, j.Rows.Optimizer.Order, j.Rows.Optimizer.WeightBound = opt.Adagrad, opt.After, 0
	j.Rows.Optimizer.Rate = 0.05
	j.Training.GlobalBatch, j.Training.Epochs, j.Training.Seed = 256, 2, seed
	return j
}

// writePeerCase writes a job and its rows to a new folder.
func writePeerCase(t *testing.T, j *job.Job, data *datasets.Dataset) string {
	t.Helper()
	folder := t.TempDir()
	c := peerCase{
		Slots: len(data.Schema.Slots), Numbers: len(data.Schema.Dense), Dim: j.Model.EmbeddingDim,
		Top:  j.Model.Top,
		Init: j.Rows.Init, Accumulator: j.Rows.Optimizer.InitialAccumulator,
		DenseRate: j.Model.Optimizer.Rate, RowRate: j.Rows.Optimizer.Rate,
	}
	source, err := datasets.TrainingSource(data, j)
	if err != nil {
		t.Fatal(err)
	}
	var ordered []*batch.Batch
	for step := range source.Steps() {
		b, err := source.Read(step)
		if err != nil {
			t.Fatal(err)
		}
		ordered = append(ordered, b)
		c.Steps = append(c.Steps, b.Samples)
	}
	known := make([]map[uint64]int64, c.Slots)
	for s := range known {
		known[s] = map[uint64]int64{}
	}
	for _, part := range []struct {
		name    string
		batches []*batch.Batch
	}{{"train", ordered}, {"test", []*batch.Batch{data.Test}}} {
		var ids []int64
		var numbers, labels []float32
		for _, b := range part.batches {
			for i := range b.Samples {
				for s, slot := range b.Slots {
					if slot.Offsets[i+1]-slot.Offsets[i] != 1 {
						t.Fatalf("slot %d of sample %d has not one id", s, i)
					}
					id := slot.IDs[slot.Offsets[i]]
					if _, ok := known[s][id]; !ok {
						known[s][id] = int64(c.IDs)
						c.IDs++
					}
					ids = append(ids, known[s][id])
				}
			}
			numbers, labels = append(numbers, b.Dense...), append(labels, b.Labels...)
		}
		writeArray(t, folder, part.name+"-ids", ids)
		writeArray(t, folder, part.name+"-numbers", numbers)
		writeArray(t, folder, part.name+"-labels", labels)
	}
	engine, err := model.New(j.Model.Spec, source.Schema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	params, _ := engine.Init(j.Training.Seed)
	writeArray(t, folder, "params", params)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "case.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// writeArray writes numbers in little-endian order.
func writeArray[T int64 | float32](t *testing.T, folder, name string, values []T) {
	t.Helper()
	var out bytes.Buffer
	if err := binary.Write(&out, binary.LittleEndian, values); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// peerAUCs trains every case in PyTorch and returns the AUCs on the test rows.
func peerAUCs(t *testing.T, python string, folders []string, labels []float32) []float64 {
	t.Helper()
	command := exec.CommandContext(t.Context(), python, append([]string{"testdata/sequential.py"},
		folders...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var aucs []float64
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, len(out)+1)
	for lines.Scan() {
		var logits []float32
		if err := json.Unmarshal(lines.Bytes(), &logits); err != nil {
			t.Fatal(err)
		}
		aucs = append(aucs, metric.AUC(logits, labels))
	}
	if len(aucs) != len(folders) {
		t.Fatalf("PyTorch responded with %d lines for %d cases", len(aucs), len(folders))
	}
	return aucs
}
