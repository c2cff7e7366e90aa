// Package jobfile reads the one YAML file that describes a job, the same for
// runtime and simulator.
package jobfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/delay"
)

// Job is a whole job file. A file must name its data; of the training it holds
// only what differs from job.Default, of the cluster what differs from Persia's.
type Job struct {
	Name string   `yaml:"name"`
	Data job.Data `yaml:"data"`
	Job  job.Job  `yaml:",inline"`
	// Cluster is the one that the simulator puts the job on.
	Cluster job.Cluster `yaml:"cluster"`
}

// AdultIncome is Persia's own example: its data, net, optimizers and settings
// (PERSIA, examples/src/adult-income). Its embedding_staleness of 10 is a
// staleness of 9 here.
func AdultIncome() Job {
	t := job.Default()
	staleness := 9
	t.Model.Spec = model.PersiaAdultIncome()
	t.Model.Optimizer = opt.DefaultDense()
	t.Model.Optimizer.Kind, t.Model.Optimizer.Rate = opt.SGD, 0.1
	t.Rows.Optimizer = opt.DefaultRow()
	t.Training.GlobalBatch, t.Roles.Ranks, t.Training.Staleness = 128, 4, &staleness
	t.Training.Shuffle = false // it reads its files in order
	return Job{Name: "adult-income", Data: job.Data{Kind: job.KindAdultIncome}, Job: t, Cluster: job.PersiaCluster()}
}

// Load reads a job file. Unknown keys are errors. A job without a name is
// called after its file.
func Load(path string) (Job, error) {
	text, err := readUpTo(path, job.DocumentBytesMax)
	if err != nil {
		return Job{}, err
	}
	j, err := Parse(text, path)
	if err != nil {
		return j, err
	}
	for _, d := range []*delay.Spec{&j.Job.Training.Delay, &j.Job.Training.DelayDense} {
		if err := d.Load(func(file string) ([]byte, error) {
			return ReadTrace(beside(path,
				file))
		}); err != nil {
			return j, fmt.Errorf("%s: training.delay: %w", path, err)
		}
	}
	return j, nil
}

// traceBytesMax is the size of the longest trace of delays: some ten million steps.
const traceBytesMax = 64 << 20

// ReadTrace reads the file of a trace of delays, of at most 64 MiB.
func ReadTrace(path string) ([]byte, error) { return readUpTo(path, traceBytesMax) }

// readUpTo reads a file, and refuses one that is longer than most bytes before it is in memory.
func readUpTo(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%s: longer than %d bytes: name another file", path, most)
	}
	return text, err
}

// Parse reads the text of a job file, whose path stands in errors, and leaves
// the files that it names.
func Parse(text []byte, path string) (Job, error) {
	name := filepath.Base(path)
	j := Job{Name: strings.TrimSuffix(name, filepath.Ext(name)), Job: job.Default(), Cluster: job.PersiaCluster()}
	if err := job.Decode(text, path, &j); err != nil {
		return j, err
	}
	if err := j.Validate(); err != nil {
		return j, fmt.Errorf("%s: %w", path, err)
	}
	return j, nil
}

// DataFolder returns where relative paths of a job's data start: the folder that
// TANDEM_DATA names or, where that is not set, the job file's own; "" without
// either.
func DataFolder(tandemData, job string) string {
	if tandemData == "" && job != "" {
		return filepath.Dir(job)
	}
	return tandemData
}

// beside returns where a file lies that a job file names: its path is relative
// to the job file's folder.
func beside(job, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(filepath.Dir(job), file)
}

// validName keeps a name within one folder.
var validName = regexp.MustCompile(`^[\pL\pN_][\pL\pN._-]*$`)

// Validate reports the first setting out of range, by its path in the file. The file may
// have mode settings of modes that only a command line chooses; job.Job says whether
// the modes that are run have them.
func (j *Job) Validate() error {
	if !validName.MatchString(j.Name) {
		return fmt.Errorf("name = %q; want letters, digits, dots, dashes and underscores: a results folder is called after it", j.Name)
	}
	if err := j.Data.Validate(); err != nil {
		return fmt.Errorf("data.%w", err)
	}
	if err := j.Job.ValidateShared(); err != nil {
		return err
	}
	if err := j.Cluster.Validate(); err != nil {
		return fmt.Errorf("cluster.%w", err)
	}
	return nil
}

// Resolved returns the job with all settings of its mode, as job.Job.Resolved does.
func (j Job) Resolved() Job {
	j.Job = j.Job.Resolved()
	return j
}
