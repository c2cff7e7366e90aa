package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"tandem/algo/job"
	"tandem/datasets/infer"
	"tandem/internal/modeltest"
	"tandem/runtime/inference"
)

var errFull = errors.New("no space left")

// fullResults has no space, for rows or at the end.
type fullResults struct{ atEnd bool }

func (r fullResults) finish() error { return errFull }

func (r fullResults) add([]float32) error {
	if r.atEnd {
		return nil
	}
	return errFull
}

// An error of writing predictions names no file that was read.
func TestErrorsOfWritingAreNotThoseOfReading(t *testing.T) {
	dir := t.TempDir()
	if err := writeClicks(t, dir); err != nil {
		t.Fatal(err)
	}
	m, err := inference.Open(filepath.Join(dir, "clicked"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p := &program{stdout: io.Discard, stderr: io.Discard}
	for _, atEnd := range []bool{false, true} {
		_, err := p.predict(fullResults{atEnd}, m, filepath.Join(dir, "clicks.csv"))
		if !errors.Is(err, errFull) || err.Error() != "cannot write the predictions: no space left" {
			t.Errorf("at the end %t: error %v", atEnd, err)
		}
	}
}

// sale is a row of a table, with numbers as Parquet has them.
type sale struct {
	User    string `parquet:"user"`
	Price   int64  `parquet:"price,decimal(1:12)"`
	Stock   int64  `parquet:"stock,decimal(0:12)"`
	Clicked int32  `parquet:"clicked"`
}

// Numbers are the same for training and for predictions in whichever form a file has them: with points or
// commas before fractions, with separators between thousands, with signs around them, or as decimals.
func TestPredictReadsNumbersAsTrainingDoes(t *testing.T) {
	dir := t.TempDir()
	rows := make([]sale, 400)
	for i := range rows {
		rows[i] = sale{fmt.Sprintf("u%d", i%7), int64(i%50)*10 + 5, int64(i*37%400+1) * 1003,
			int32(i % 3 / 2)}
	}
	var files []string
	for name, form := range map[string]string{ // order-free: each in a file of its own
		"points.csv":    "%s,%d.%d,%d%03d,%d\n",
		"commas.csv":    "%s;%d,%d;%d.%03d,0;%d\n",
		"thousands.csv": "%s\t%d.%d\t%d,%03d\t%d\n",
		"signs.csv":     "%s;%d.%d %%;€ %d'%03d;%d\n",
	} {
		text := strings.NewReplacer(";", form[2:3]).Replace("user;price;stock;clicked\n")
		for _, r := range rows {
			text += fmt.Sprintf(form, r.User, r.Price/10, r.Price%10, r.Stock/1000, r.Stock%1000, r.Clicked)
		}
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files = append(files, filepath.Join(dir, "decimals.parquet"))
	if err := parquet.WriteFile(files[len(files)-1], rows); err != nil {
		t.Fatal(err)
	}
	var first string
	for _, file := range files {
		split := job.Split{How: job.SplitLast, Test: 0.5}
		j, _, found, err := infer.Open(infer.Request{File: file, Split: split})
		if err != nil {
			t.Fatal(err)
		}
		if numbers := found.Data.Table().Numeric; len(numbers) != 2 {
			t.Fatalf("%s: the numbers are %q", file, numbers)
		}
		j.Training.Epochs = 3
		folder, _ := modeltest.Train(t, j.InMode(job.Sync)) // in others no two trainings are the same
		var predictions, problems bytes.Buffer
		if code := run([]string{"predict", folder, file}, &predictions, &problems); code != 0 {
			t.Fatal(problems.String())
		}
		switch got := predictions.String(); {
		case first == "":
			first = got
		case got != first:
			t.Errorf("%s: other predictions than of %s", file, files[0])
		}
	}
	if lines := strings.Fields(first); len(lines) != len(rows)+1 || lines[1] == lines[2] {
		t.Errorf("%d lines, %.60q", len(lines), first)
	}
}

// Where ids of the training may have no row, an unknown id says nothing of how it is written.
func TestAdviceAboutUnknownIDs(t *testing.T) {
	k := knownIDs{slots: []string{"user", "item"}, ids: []int{10, 10}, unknown: []int{6, 5}}
	const line = "model: most ids have no trained row: 60 % of user"
	for complete, want := range map[bool]string{
		true: line + "; if the training had them, write them as there (007 is not 7)\n", false: line + "\n"} {
		var out strings.Builder
		if k.warn(&out, complete); out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
