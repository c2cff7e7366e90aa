package main

import (
	"context"
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/runtime/record"
	"tandem/runtime/train"
)

// recorded trains a job and records it: recorded job.yaml folder.
func recorded(ts *testscript.TestScript, _ bool, args []string) {
	text := []byte(ts.ReadFile(args[0]))
	j, err := job.Parse(text, args[0])
	ts.Check(err)
	data, err := datasets.Open(j.Data, ts.Getenv("TANDEM_DATA"))
	ts.Check(err)
	source, err := datasets.TrainingSource(data, &j)
	ts.Check(err)
	folder, err := record.Create(ts.MkAbs(args[1]), text)
	ts.Check(err)
	result, err := train.Run(context.Background(), j, source, data.Test, train.Options{Recorder: folder})
	ts.Check(err)
	ts.Check(folder.Close())
	ts.Check(folder.Measured(result.Staleness))
}

// truncate cuts a file to its first bytes: truncate file count.
func truncate(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// change changes one byte of a file: change file offset.
func change(ts *testscript.TestScript, _ bool, args []string) {
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := []byte(ts.ReadFile(args[0]))
	text[at] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o644))
}
