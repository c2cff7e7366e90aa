package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// recordName is the name of the file that holds a record.
const recordName = "run.json"

// recordFormat is the version of the file. Files of other versions are refused.
const recordFormat = 1

// startAgain is the hint for a record that cannot be used.
const startAgain = "start the run again in a new folder"

// record is what is needed to resume a run: its experiment and settings. It is in the folder of the results
// before the first training.
type record struct {
	Format     int       `json:"format"`
	Run        string    `json:"run"` // the id, in every file of the results
	Experiment string    `json:"experiment"`
	Folder     string    `json:"folder"` // the name of the folder, once it is finished
	Command    string    `json:"command"`
	Quick      bool      `json:"quick"`
	Seeds      int       `json:"seeds"`
	Seed       uint64    `json:"seed"`
	Arguments  []string  `json:"arguments"` // flags that only this experiment has
	DataFolder string    `json:"data_folder"`
	Indexed    bool      `json:"indexed"` // a line of the index beside the folder
	Started    time.Time `json:"started"`
	// Commits are those of the program, without repetition: one, or more if another one resumed the run.
	Commits []string `json:"commits"`
	Resumed int      `json:"resumed"` // how often
	// Finished is the time at which the results were complete, or nil.
	Finished *time.Time `json:"finished"`
}

// newRecord returns the record of a run that begins now.
func (p *program) newRecord(e *report.Experiment, target string, s settings) *record {
	now := p.now()
	r := &record{
		Format: recordFormat, Experiment: e.Name, Folder: filepath.Base(target),
		Command: p.commandLine(e, s),
		Quick:   s.quick, Seeds: s.seeds, Seed: s.seed, Arguments: p.arguments(e), DataFolder: s.dataFolder,
		Started: now, Commits: []string{cli.Commit()},
	}
	sum := sha256.Sum256([]byte(r.Command + "\n" + r.Commits[0] + "\n" + now.Format(time.RFC3339Nano)))
	r.Run = hex.EncodeToString(sum[:4])
	return r
}

// arguments returns the flags that only an experiment has and that were set, as words of a command.
func (p *program) arguments(e *report.Experiment) (words []string) {
	p.own[e].VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		text := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			text = strings.Join(list.GetSlice(), ",")
		}
		if f.NoOptDefVal != "" { // a switch takes its value after an equals sign only
			words = append(words, "--"+f.Name+"="+text)
			return
		}
		words = append(words, "--"+f.Name, text)
	})
	return words
}

// write writes the record to a folder. A reader sees the old file or the new one, also after a crash.
func (r *record) write(folder string) (err error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(folder, recordName)
	file, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// readRecord reads the record in a folder.
func readRecord(folder string) (*record, error) {
	name := filepath.Join(folder, recordName)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var version struct{ Format int }
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, &cli.Error{Err: fmt.Errorf("%s: %w", name, err), Hint: startAgain}
	}
	if version.Format != recordFormat {
		return nil, &cli.Error{
			Err: fmt.Errorf("%s: a file of version %d; this program reads version %d", name, version.Format,
				recordFormat),
			Hint: "resume with the program that started the run, or start it again in a new folder",
		}
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, &cli.Error{Err: fmt.Errorf("%s: %w", name, err), Hint: startAgain}
	}
	return r, nil
}

// errNoInterruptedRun says that a folder holds no run that could be continued.
var errNoInterruptedRun = errors.New("there is no interrupted run")

// resumed counts one more part of the run, by this program.
func (r *record) resumed() {
	r.Resumed++
	if commit := cli.Commit(); !slices.Contains(r.Commits, commit) {
		r.Commits = append(r.Commits, commit)
	}
}

// findInterrupted returns the folder of an interrupted run and its record. The folder is named itself, or by
// the name that it would have had when finished.
func findInterrupted(named string) (folder string, r *record, err error) {
	r, err = readRecord(named)
	working := strings.HasPrefix(filepath.Base(filepath.Clean(named)), ".")
	switch {
	case err == nil && r.Finished != nil && !working:
		return "", nil, &cli.Error{
			Err:  fmt.Errorf("%s: the run is finished", named),
			Hint: "its report is " + filepath.Join(named, "report.html"),
		}
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return named, r, err
	}
	candidates := slices.DeleteFunc(cli.Unfinished(named), func(name string) bool {
		_, err := os.Stat(filepath.Join(name, recordName))
		return err != nil
	})
	switch len(candidates) {
	case 0:
		return "", nil, &cli.Error{
			Err:  fmt.Errorf("%s: %w", named, errNoInterruptedRun),
			Hint: "name the folder of an interrupted run; it has a file " + recordName,
		}
	case 1:
		r, err := readRecord(candidates[0])
		return candidates[0], r, err
	}
	return "", nil, &cli.Error{
		Err:  fmt.Errorf("%s: there are %d interrupted runs", named, len(candidates)),
		Hint: "name one: " + strings.Join(candidates, ", "),
	}
}

// restore gives an experiment the flags of a record. Flags of the command line that differ are an error.
func (p *program) restore(
	r *record, e *report.Experiment, names []string, s *settings, changed func(flag string) bool,
) error {
	whole, _ := p.leaf(e.Name)
	contradiction := func(given, recorded string) error {
		return cli.UsageError("leave out what differs: a resumed run keeps its settings",
			"%s: this run has %s", given, recorded)
	}
	switch {
	case len(names) > 1:
		return cli.UsageError("give --resume alone", "--resume continues one run, not %d", len(names))
	case len(names) == 1 && names[0] != whole.Name:
		return contradiction("experiment "+names[0], r.Experiment)
	case changed("out"):
		return cli.UsageError("leave out --out", "--out %s: a resumed run keeps its folder", s.out)
	case changed("quick") && s.quick != r.Quick:
		return contradiction(fmt.Sprintf("--quick=%t", s.quick), fmt.Sprintf("--quick=%t", r.Quick))
	case changed("seeds") && s.seeds != r.Seeds:
		return contradiction(fmt.Sprintf("--seeds %d", s.seeds), fmt.Sprintf("--seeds %d", r.Seeds))
	case changed("seed") && s.seed != r.Seed:
		return contradiction(fmt.Sprintf("--seed %d", s.seed), fmt.Sprintf("--seed %d", r.Seed))
	}
	if given := p.arguments(e); len(given) > 0 && !slices.Equal(given, r.Arguments) {
		recorded := strings.Join(r.Arguments, " ")
		if recorded == "" {
			recorded = "no such flag"
		}
		return contradiction(strings.Join(given, " "), recorded)
	}
	s.quick, s.seeds, s.seed = r.Quick, r.Seeds, r.Seed
	if !changed("data-folder") && r.DataFolder != "" {
		s.dataFolder = r.DataFolder
	}
	return p.restoreArguments(e, r.Arguments)
}

// restoreArguments gives an experiment the flags that only it has.
func (p *program) restoreArguments(e *report.Experiment, recorded []string) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	p.addOwnFlags(flags, e)
	if err := flags.Parse(recorded); err != nil {
		return &cli.Error{
			Err:  fmt.Errorf("%s: a file of another version: %w", recordName, err),
			Hint: startAgain,
		}
	}
	return nil
}

// note returns a sentence for the report of a run that was resumed, or "".
func (r *record) note() string {
	if r.Resumed == 0 {
		return ""
	}
	text := fmt.Sprintf("The run was interrupted and resumed %d times", r.Resumed)
	if r.Resumed == 1 {
		text = "The run was interrupted and resumed once"
	}
	if len(r.Commits) > 1 {
		text += "; its parts are of different commits: " + strings.Join(r.Commits, "; ")
	}
	return text + ". Its time is that of the last part."
}
