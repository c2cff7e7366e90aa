package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"tandem/internal/pythontest"
)

const eventReader = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
a.Reload()
print(json.dumps({"scalars": {t: [[s.step, s.value] for s in a.Scalars(t)] for t in a.Tags()["scalars"]},
    "histograms": {t: a.Histograms(t)[0].histogram_value.num for t in a.Tags()["histograms"]}}))
`

// TensorBoard's own reader finds the curve of a training, its loss and its staleness.
func TestTensorBoardReadsATraining(t *testing.T) {
	python := pythontest.With(t, "tensorboard")
	out := filepath.Join(t.TempDir(), "out")
	if code := run([]string{"--mode", "hybrid", "--evaluate-every", "100 steps", "--out", out}, io.Discard,
		io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	text := python.Run(t, nil, "-c", eventReader, filepath.Join(out, eventFolder, "hybrid"))
	var got struct {
		Scalars    map[string][][2]float64
		Histograms map[string]float64
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	file, err := os.Open(filepath.Join(out, "curve.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	points := 0
	for _, record := range records[1:] {
		if record[0] != "hybrid" {
			continue
		}
		for tag, column := range map[string]int{"auc": 5, "log_loss": 6} {
			want, err := strconv.ParseFloat(record[column], 64)
			if err != nil {
				t.Fatal(err)
			}
			p := got.Scalars[tag][points]
			if strconv.Itoa(int(p[0])) != record[2] || math.Abs(p[1]-want) > 1e-6 {
				t.Errorf("%s: TensorBoard reads %v, curve.csv has %v", tag, p, record)
			}
		}
		points++
	}
	if points < 2 || len(got.Scalars["auc"]) != points {
		t.Errorf("%d points in curve.csv, %d read by TensorBoard", points, len(got.Scalars["auc"]))
	}
	loss, speed := got.Scalars["loss"], got.Scalars["samples_per_s"]
	if len(loss) < 100 || loss[0][1] < loss[len(loss)-1][1] || len(speed) != len(loss) {
		t.Errorf("%d losses and %d speeds", len(loss), len(speed))
	}
	if got.Histograms["staleness/own"] == 0 || got.Histograms["staleness/missed_updates"] == 0 {
		t.Errorf("histograms %v", got.Histograms)
	}
}
