package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/rng"
)

// writeShops writes a table in the order of time. Clicks depend on the pair of place and device, which only
// a derived slot knows, and on the price, but in the last rows less on either.
func writeShops(t *testing.T) string {
	t.Helper()
	draw := rng.New(3, "shops")
	var text strings.Builder
	text.WriteString("noise,day,place,device,price,click\n")
	for row := range 4000 {
		place, device, price := draw.IntN(4), draw.IntN(3), draw.NormFloat64()
		strength := 1.0
		if row > 3600 {
			strength = 0
		}
		z := price
		if (place+device)%2 == 0 {
			z += 2
		}
		click := 0
		if draw.Float64() < 1/(1+math.Exp(1-strength*z)) {
			click = 1
		}
		fmt.Fprintf(&text, "%d,2026-01-%02d,place %d,device %d,%.3f,%d\n", draw.IntN(5), 1+row*28/4000, place,
			device, price, click)
	}
	path := filepath.Join(t.TempDir(), "shops.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A report has the columns that matter with the slots derived from them, slices with the texts of the file,
// parts in the order of time, gains and calibration, as numbers and as figures.
func TestReportSaysWhatTheModelIsWorth(t *testing.T) {
	table, out := writeShops(t), filepath.Join(t.TempDir(), "out")
	var stderr bytes.Buffer
	if code := run([]string{"--data", table, "--split", "time:day", "--without", "prediction", "--out", out},
		io.Discard, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	text, err := os.ReadFile(filepath.Join(out, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Worth   modelWorth
		Derived struct{ Used bool }
		Runs    []row
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !got.Derived.Used {
		t.Fatal("the pair of place and device is no derived slot, of which the test wants to know")
	}
	var order []string
	for _, fall := range got.Worth.Importance.Falls {
		order = append(order, fall.Columns...)
		if name := fall.Columns[0]; (fall.Low > 0) != (name != "noise") {
			t.Errorf("%s: %+v", name, fall.Interval)
		}
	}
	if slices.Sort(order); !slices.Equal(order, []string{"device", "noise", "place", "price"}) {
		t.Errorf("columns %v", order)
	}
	for _, of := range got.Worth.ByValue {
		rows := 0
		for _, s := range of.Slices {
			rows += s.Rows
			if of.Column != "noise" && !strings.HasPrefix(s.Value, of.Column+" ") || s.AUC == nil {
				t.Errorf("%s has the value %q, AUC %v", of.Column, s.Value, s.AUC)
			}
		}
		if rows < 700 || rows > 900 {
			t.Errorf("%s: %d rows, want the latest fifth of 4000", of.Column, rows)
		}
	}
	if n := len(got.Worth.ByValue); n != 3 || got.Worth.ByValue[2].Column != "noise" {
		t.Errorf("%d columns with slices, want place and device, which matter, and then noise", n)
	}
	parts := got.Worth.ByTime
	if n := len(parts); n < 4 || parts[n-1].AUC.High >= parts[0].AUC.Estimate || got.Worth.Mode != "hybrid" {
		t.Errorf("parts in the order of time: %+v", parts)
	}
	if run := got.Runs[0]; len(run.Calibration) != 10 || len(run.Gains) != len(gainShares) ||
		run.Gains[len(gainShares)-1].Found != 1 || run.Gains[3].Lift() < 1.1 {
		t.Errorf("calibration %+v, gains %+v", run.Calibration, run.Gains)
	}
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{"<h2>Columns that matter</h2>", "<h2>Calibration</h2>", "<h2>Gains</h2>",
		"<h2>AUC by value</h2>", ">place 3<", "<h2>By time</h2>", "<h2>Learning curve</h2>",
		"deepfm, rows held back", "Lift in the highest predictions"} {
		if !bytes.Contains(page, []byte(wanted)) {
			t.Errorf("the page lacks %q", wanted)
		}
	}
}
