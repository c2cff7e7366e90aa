package processes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/runtime/process"
	"tandem/runtime/train"
)

// trainInProcesses trains a job in processes of the program node, as its placement says.
func trainInProcesses(ctx context.Context, node string, j job.Job, source batch.Source, test *batch.Batch,
	o train.Options) (*train.Result, error) {
	folder, err := os.MkdirTemp("", "tandem-job-")
	if err != nil {
		return nil, fmt.Errorf("cannot create a folder for the job: %w", err)
	}
	defer os.RemoveAll(folder)
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "job.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	if j, err = job.Load(file); err != nil {
		return nil, fmt.Errorf("the resolved job: %w", err)
	}
	fingerprint, err := j.Fingerprint()
	if err != nil {
		return nil, err
	}
	data, err := datasets.Fingerprint(j.Data, "")
	if err != nil {
		return nil, err
	}
	cluster := process.New(process.Options{
		Listen: "127.0.0.1:0", Job: j, Fingerprint: fingerprint, Data: data,
		Command: func(s process.Start) []string {
			return slices.Concat([]string{node}, s.Arguments(), []string{"--file", file})
		},
	})
	o.Cluster = cluster
	result, err := train.Run(ctx, j, source, test, o)
	cluster.Close(err)
	return result, err
}
