package infer

import (
	"context"
	"path/filepath"
	"time"

	"tandem/algo/job"
	"tandem/datasets"
)

// Follow waits for the first file with rows of a folder, infers its columns, and returns the rows that arrive
// there and a job for them. r.File is the folder, and its Split and Memory are not used. Of source, the
// fields Complete, From and Block are those of the job. feed brings the files, unless it is nil. waiting is
// called as by datasets.Follow.
func Follow(ctx context.Context, r Request, source job.Data, feed *datasets.Feed,
	waiting func(time.Duration)) (j job.Job, stream *datasets.Stream, set *datasets.Dataset, found *Table,
	err error) {
	folder, err := filepath.Abs(r.File)
	if err != nil {
		return j, nil, nil, nil, err
	}
	first, err := datasets.FirstFile(ctx, folder, source.Complete, feed, func(path string) (err error) {
		found, err = File(path, r.Options)
		return err
	}, waiting)
	if err != nil {
		return j, nil, nil, nil, err
	}
	data := found.Data
	data.Kind, data.Path, data.OnBadRow = job.KindFollow, folder, r.OnBadRow
	data.Complete, data.From, data.Block = source.Complete, source.From, source.Block
	if stream, set, err = datasets.Follow(ctx, data, "", filepath.Base(first), feed, waiting); err != nil {
		return j, nil, nil, nil, err
	}
	j = Job(set)
	j.Name, j.Data, j.Cluster = nameOf(folder), data, job.PersiaCluster()
	j.Training.Epochs, j.Training.Shuffle = 1, false
	return j, stream, set, found, nil
}
