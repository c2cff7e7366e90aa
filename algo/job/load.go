package job

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tandem/algo/protocol/delay"
)

// Load reads a job file, and the module and the traces of delays that it names. Unknown keys are errors. A
// job without a name is called after its file. Data files are not opened: package datasets opens them.
func Load(path string) (Job, error) {
	text, err := ReadDocument(path)
	if err != nil {
		return Job{}, err
	}
	j, err := Parse(text, path)
	if err != nil {
		return j, err
	}
	if j.Model.File != "" {
		j.Model.File = beside(path, j.Model.File)
		if err = ReadModule(&j.Model.Spec); err != nil {
			return j, fmt.Errorf("%s: model.file: %w", path, err)
		}
	}
	for _, d := range []*delay.Spec{&j.Training.Delay, &j.Training.DelayDense} {
		if err := d.Load(func(file string) ([]byte,
			error) {
			return ReadTrace(beside(path, file))
		}); err != nil {
			return j, fmt.Errorf("%s: training.delay: %w", path, err)
		}
	}
	return j, nil
}

// Parse reads the text of a job file and opens no other file. Errors begin with path. The text must have a
// section data; all else has the values of Default, on Persia's cluster, unless the text says otherwise.
func Parse(text []byte, path string) (Job, error) {
	j := Default()
	name := filepath.Base(path)
	j.Name = strings.TrimSuffix(name, filepath.Ext(name))
	if err := j.decodeCluster(text, path); err != nil {
		return j, err
	}
	given := j
	if err := Decode(text, path, &j); err != nil {
		return j, err
	}
	if slices.ContainsFunc(j.Data.Slots, func(s SlotSetting) bool { return s.Optimizer != nil }) {
		rows := j.Rows.Optimizer // which the file may have behind the slots
		j = given
		if err := decodeFrom(text, path, &j, rows); err != nil {
			return j, err
		}
	}
	if err := j.validateFile(); err != nil {
		return j, fmt.Errorf("%s: %w", path, err)
	}
	return j, nil
}

// validName keeps a name within one folder.
var validName = regexp.MustCompile(`^[\pL\pN_][\pL\pN._-]*$`)

// validateFile reports the first setting of a job file that is out of range.
func (j *Job) validateFile() error {
	if !validName.MatchString(j.Name) {
		return fmt.Errorf("name = %q; want letters, digits, dots, dashes and underscores: it names a "+
			"results folder", j.Name)
	}
	if err := j.Data.Validate(); err != nil {
		return fmt.Errorf("data.%w", err)
	}
	if err := j.ValidateShared(); err != nil {
		return err
	}
	if err := j.Cluster.Validate(); err != nil {
		return fmt.Errorf("cluster.%w", err)
	}
	return nil
}

// Fingerprint returns a digest of the settings on which all processes of one run must agree: all sections but
// cluster. It does not cover the content of data files: only the data loader and the host open them, and
// compare datasets.Fingerprint.
func (j Job) Fingerprint() ([]byte, error) {
	text, err := yaml.Marshal(j.compared())
	sum := sha256.Sum256(text)
	return sum[:], err
}

// compared returns the settings that Fingerprint covers. A module is what its text says, in whichever folder;
// what it costs depends on the version of torch, and decides nothing of a training.
func (j Job) compared() Job {
	j = j.Resolved()
	j.Name, j.Cluster, j.Model.Traced = "", Cluster{}, nil
	if j.Model.Source != "" {
		j.Model.File = ""
	}
	return j
}

// DataFolder returns the folder that relative paths of a job's data start from: tandemData, the value of the
// environment variable TANDEM_DATA, or the folder of the job file if tandemData is empty; "" if both are
// empty.
func DataFolder(tandemData, file string) string {
	if tandemData == "" && file != "" {
		return filepath.Dir(file)
	}
	return tandemData
}

// beside returns the path of a file that a job file names, relative to the folder of the job file.
func beside(job, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(filepath.Dir(job), file)
}

// traceBytesMax is the size of the longest trace of delays: some ten million steps.
const traceBytesMax = 64 << 20

// ReadTrace reads the file of a trace of delays, of at most 64 MiB.
func ReadTrace(path string) ([]byte, error) { return readUpTo(path, traceBytesMax) }

// ReadDocument reads a file of the form of a job, such as a profile, of at most DocumentBytesMax.
func ReadDocument(path string) ([]byte, error) { return readUpTo(path, DocumentBytesMax) }

// readUpTo reads a file, and refuses one that is longer than limit bytes before it is in memory.
func readUpTo(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("%s: longer than %d bytes: name another file", path, limit)
	}
	return text, err
}
