package infer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"tandem/algo/job"
	"tandem/datasets"
)

// Follow waits for the first file with rows of a folder, infers its columns, and returns the rows that arrive
// there and a job for them. r.File is the folder, and its Split and Memory are not used. complete is a value
// of job.Data.Complete. waiting is called as by datasets.Follow.
func Follow(ctx context.Context, r Request, complete string, waiting func(time.Duration)) (j job.Job,
	stream *datasets.Stream, set *datasets.Dataset, found *Table, err error) {
	folder, err := filepath.Abs(r.File)
	if err != nil {
		return j, nil, nil, nil, err
	}
	first, found, err := firstTable(ctx, folder, complete, r.Options, waiting)
	if err != nil {
		return j, nil, nil, nil, err
	}
	data := found.Data
	data.Kind, data.Path, data.Complete, data.OnBadRow = job.KindFollow, folder, complete, r.OnBadRow
	if stream, set, err = datasets.Follow(ctx, data, "", filepath.Base(first), waiting); err != nil {
		return j, nil, nil, nil, err
	}
	j = Job(set)
	j.Name, j.Data, j.Cluster = nameOf(folder), data, job.PersiaCluster()
	j.Training.Epochs, j.Training.Shuffle = 1, false
	return j, stream, set, found, nil
}

// firstTable waits for the first file that has rows, and describes its columns. Files before it, with a
// header alone, say nothing about them.
func firstTable(ctx context.Context, folder, complete string, o Options, waiting func(time.Duration)) (
	string, *Table, error) {
	var without []string
	for {
		first, err := datasets.FirstFile(ctx, folder, complete, without, waiting)
		if err != nil {
			return "", nil, err
		}
		found, err := File(first, o)
		if info, failed := os.Stat(first); !errors.Is(err, datasets.ErrNoRows) || failed != nil ||
			info.Size() == 0 {
			return first, found, err
		}
		without = append(without, filepath.Base(first))
	}
}
