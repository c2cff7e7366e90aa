// Package record keeps recordings of runs (package algo/exec/replay) in folders, with a file for every role.
//
// Each process of a run writes the files of its own roles, on any machine. Put into one folder, they are the
// recording of the run. A Folder is the train.Recorder that writes; Load opens the files for a replay.
//
// Where hot rows are chosen again on the way (job.Hot.Every), new roles begin, with files of their own:
// those of the part of the run that begins at global step s > 0 have from-step-s in their names. Which rows
// are hot in a part is not recorded, because it follows from the job, the data and the step
// (frequent.ChooseAgain). A replay goes through the Parts with one executor.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/exec/replay"
	"tandem/algo/histogram"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
)

// extension is the end of the names of recorded files.
const extension = ".recording"

// fromStep is before the first global step in the names of files of a later part of a run.
const fromStep = ".from-step-"

// Folder is a recording that is being written. It is a train.Recorder.
type Folder struct {
	// Through makes roles that can come back when their process is killed record each input before they act
	// on it (replay.Writer).
	Through bool

	path  string
	job   []byte
	first int        // global step at which the part begins
	files []*os.File // of the part
}

// Create makes a folder, if it does not exist, for the recording of a run or of the roles of one process. job
// is the resolved job as YAML, from which a replay makes the executor and the rule.
func Create(path string, job []byte) (*Folder, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	return &Folder{path: path, job: job}, nil
}

// BeginAt implements train.Recorder: Open makes files of the part that begins at a global step from now on.
// The part before must be complete.
func (f *Folder) BeginAt(step int) error {
	f.first = step
	return f.Close()
}

// Open implements driver.Recorder. It never overwrites a file: a process that was restarted after its death
// records its roles into files of its own, whose names contain the incarnation.
func (f *Folder) Open(at msg.Address, incarnation uint32, cfg *role.Config) (driver.Log, error) {
	name := fmt.Sprintf("%s-%d", at.Role, at.Index)
	if incarnation > 0 {
		name += fmt.Sprintf(".incarnation-%d", incarnation)
	}
	if f.first > 0 {
		name += fmt.Sprint(fromStep, f.first)
	}
	name += extension
	file, err := os.OpenFile(filepath.Join(f.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	f.files = append(f.files, file)
	log, err := replay.NewWriter(file, replay.Header{Role: at, Incarnation: incarnation, Job: f.job,
		Config: *cfg})
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	log.Through = f.Through && role.CanRestart(at.Role)
	return log, nil
}

// Close closes the files after the run. The files of a failed run are cut short.
func (f *Folder) Close() error {
	var all []error
	for _, file := range f.files {
		all = append(all, file.Close())
	}
	f.files = nil
	return errors.Join(all...)
}

// measuredName is the file with the staleness that the run itself has measured.
const measuredName = "staleness.json"

// Measured summarises the staleness that a run itself has measured, as far as it follows from the recordings
// of roles.
type Measured struct{ Own, Cross, Dense histogram.Summary }

// Measured stores the staleness that the run has measured beside the recording.
func (f *Folder) Measured(s pace.Staleness) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.path, measuredName), append(text, '\n'), 0o644)
}

// Files are the open files of a part of a recording.
type Files struct {
	Readers []*replay.Reader
	files   []*os.File
	Bytes   int64 // total size
	// Measured is the staleness that the run has measured, or nil if it was not stored, as when the user
	// started the processes.
	Measured *Measured
}

// errNoRecording says that a folder has no recorded file.
var errNoRecording = errors.New("there is no recording")

// Parts returns the global steps at which the parts of the recording in a folder begin, in ascending order.
// The first is 0, and the only one if hot rows were not chosen on the way.
func Parts(path string) (steps []int, err error) {
	names, err := filepath.Glob(filepath.Join(path, "*"+extension))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if step := partOf(name); !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	switch {
	case len(steps) == 0:
		return nil, fmt.Errorf("%s: %w", path, errNoRecording)
	case steps[0] != 0:
		return nil, fmt.Errorf("%s: the recording begins at step %d; put the files of the steps before into "+
			"the folder, too", path, steps[0])
	}
	return steps, nil
}

// partOf returns the global step at which the part of a run begins whose file has a name.
func partOf(name string) int {
	_, after, later := strings.Cut(filepath.Base(name), fromStep)
	step, err := strconv.Atoi(strings.TrimSuffix(after, extension))
	if !later || err != nil {
		return 0
	}
	return step
}

// Load opens that part of the recording in a folder which begins at a global step; 0 is the whole recording
// unless it has several Parts. Errors name the file.
func Load(path string, step int) (*Files, error) {
	names, err := filepath.Glob(filepath.Join(path, "*"+extension))
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return partOf(name) != step })
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNoRecording)
	}
	f := &Files{}
	for _, name := range names {
		if err := f.open(name); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := f.readMeasured(filepath.Join(path, measuredName)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// measuredMax is more than the size of any summary of staleness.
const measuredMax = 1 << 20

func (f *Files) readMeasured(name string) error {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer file.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(file, measuredMax)); err == nil {
			err = json.Unmarshal(text, &f.Measured)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (f *Files) open(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	f.files = append(f.files, file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f.Bytes += info.Size()
	r, err := replay.NewReader(file, filepath.Base(name))
	if err != nil {
		return err
	}
	f.Readers = append(f.Readers, r)
	return nil
}

// Close closes the files.
func (f *Files) Close() {
	for _, file := range f.files {
		_ = file.Close() // the files were only read
	}
}

// Find returns the folders at and below path that hold a recording, in lexical order. It returns an error if
// there is none.
func Find(path string) ([]string, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	var found []string
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder := filepath.Dir(name)
		if filepath.Ext(name) == extension && !entry.IsDir() &&
			(len(found) == 0 || found[len(found)-1] != folder) {
			found = append(found, folder)
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: %w; files written by --record end in %s", path, errNoRecording, extension)
	}
	return found, err
}
