package job

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"tandem/algo/protocol/delay"
)

// Located returns the job with absolute paths in the place of relative ones, so that its text means the same
// in every folder. file is the job file that the job was read from, or "" for none. Paths of data that start
// at tandemData, the value of the environment variable TANDEM_DATA, stay relative: such a job file can be
// used on other machines.
func (j Job) Located(file, tandemData string) (Job, error) {
	if tandemData == "" {
		for _, path := range []*string{&j.Data.Path, &j.Data.Train, &j.Data.Test} {
			if err := locate(path, file); err != nil {
				return j, err
			}
		}
	}
	for _, d := range []*delay.Spec{&j.Training.Delay, &j.Training.DelayDense} {
		if err := locate(&d.File, file); err != nil {
			return j, err
		}
	}
	return j, j.Cluster.locate(file)
}

// RelativeData reports whether the job reads a file whose path is relative, and so depends on TANDEM_DATA or
// on the folder of the job file.
func (j *Job) RelativeData() bool {
	for _, path := range []string{j.Data.Path, j.Data.Train, j.Data.Test} {
		if path != "" && !filepath.IsAbs(path) && !IsURL(path) {
			return true
		}
	}
	return false
}

// locate makes the paths of profiles absolute. A preset lies beside the job file, other profiles start at
// the working folder.
func (c *Cluster) locate(file string) error {
	if strings.HasSuffix(c.Preset, ".yaml") {
		if err := locate(&c.Preset, file); err != nil {
			return err
		}
	}
	c.Mixed = slices.Clone(c.Mixed)
	profiles := []*string{&c.Preset, &c.Accelerator, &c.Inside, &c.HostLink, &c.Server, &c.Network, &c.System,
		&c.Model, &c.EmbeddingWorkers.Profile, &c.EmbeddingPSs.Profile, &c.Loaders.Profile}
	for i := range c.Mixed {
		profiles = append(profiles, &c.Mixed[i].Accelerator)
	}
	for _, name := range profiles {
		if !IsProfileFile(*name) {
			continue
		}
		if err := locate(name, ""); err != nil {
			return err
		}
	}
	return nil
}

// IsURL reports whether the path of a data file is a URL, such as s3://bucket/clicks.csv.
func IsURL(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && scheme != "" && strings.IndexFunc(scheme, func(r rune) bool {
		return !unicode.IsLower(r) && !unicode.IsDigit(r)
	}) < 0
}

// locate makes a path that starts at the folder of a job file absolute. It does nothing to an empty one or to
// a URL.
func locate(path *string, file string) (err error) {
	if *path == "" || IsURL(*path) {
		return nil
	}
	if file != "" {
		*path = beside(file, *path)
	}
	*path, err = filepath.Abs(*path)
	return err
}
