package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/frequent"
	"tandem/algo/exec/replay"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/blas"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/record"
	"tandem/runtime/torch"
)

const replayUsage = `Replay recorded runs, and check that they give the same bits.

FOLDER is a recording, or a folder above recordings: cmd/train --record writes
them into its results. The files of a run in several processes belong into one
folder.

Every role runs again on its recorded inputs, and all work is done again on the
job's data. The replay stops at the first difference, in an output, a payload,
a count or, at the end, the parameters, and names the role, the step and the
field. Relative paths of the job's data start at TANDEM_DATA.

The faults that a job injects are part of its recording: messages lost,
repeated and late, and crashes of roles. So is the death of a process that came
back: a data loader, embedding worker or coordinator has a file for each time
it was started.`

const replayExamples = `  go run ./cmd/train --mode hybrid --record --out run
  go run ./cmd/sim replay run
  go run ./cmd/sim replay run/recording/hybrid-seed-1 --json
  go run ./cmd/sim replay run --without-numerics`

// replayed is the result of replaying one recording.
type replayed struct {
	Folder  string `json:"folder"`
	Job     string `json:"job"`
	Mode    string `json:"mode"`
	Seed    uint64 `json:"seed"`
	Roles   int    `json:"roles"`
	Inputs  uint64 `json:"inputs"`
	Steps   int    `json:"steps"`
	Bytes   int64  `json:"bytes"`
	Numbers bool   `json:"numbers"` // parameters were trained again; digests are theirs

	Dense     string            `json:"dense_digest,omitempty"`
	Rows      string            `json:"rows_digest,omitempty"`
	RowCount  int               `json:"rows,omitempty"`
	Own       histogram.Summary `json:"staleness"`
	Cross     histogram.Summary `json:"staleness_cross"`
	OfPushes  histogram.Summary `json:"staleness_dense"`       // of pushes to dense PSs
	Confirmed bool              `json:"staleness_as_measured"` // false if the run's own is not kept

	span unit.Tick
}

func (p *program) replayCommand() *cobra.Command {
	var asJSON, withoutNumbers bool
	c := &cobra.Command{
		Use: "replay FOLDER", Short: "Replay recorded runs, and check that they give the same bits",
		Long: replayUsage, Example: replayExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.UsageError("name the results folder of a run that was recorded",
					"replay takes one folder, not %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return adviseReplay(p.replay(args[0], withoutNumbers, asJSON))
		},
	}
	c.Flags().SortFlags = false
	c.Flags().BoolVar(&withoutNumbers, "without-numerics", false,
		"check what the roles decided, without the data and without computing anything")
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array with an object for each recording")
	return c
}

// adviseReplay adds a hint to an error of a replay.
func adviseReplay(err error) error {
	var difference *replay.Difference
	hint := "see go run ./cmd/sim replay --help"
	switch {
	case err == nil:
		return nil
	case errors.As(err, &difference):
		hint = "the data, the program or " + blas.Variable +
			" is not that of the run, or results depend on the order of events, which is a bug"
	case errors.Is(err, replay.ErrCutShort):
		hint = "a process or a copy that was interrupted leaves such a file"
	case errors.Is(err, replay.ErrDamaged):
		hint = "copy the file again; a changed recording cannot be replayed"
	case errors.Is(err, replay.ErrFormat):
		hint = "the Tandem that recorded it can replay it: its commit is in environment.json of the results"
	case errors.Is(err, fs.ErrNotExist):
		hint = "TANDEM_DATA must be the folder of the run's data, as it was then"
	}
	return &cli.Error{Err: err, Hint: hint}
}

// replay replays all recordings at and below a folder.
func (p *program) replay(folder string, withoutNumbers, asJSON bool) error {
	folders, err := record.Find(folder)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(p.stderr, p.terminal)
	defer bar.Close()
	var all []*replayed
	for i, f := range folders {
		r, err := p.replayOne(f, withoutNumbers, func(done, steps int) {
			bar.Show(i*steps+done, len(folders)*steps, f)
		})
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	bar.Close()
	if asJSON {
		e := json.NewEncoder(p.stdout)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	for _, r := range all {
		r.writeText(p.stdout)
	}
	return nil
}

// replayOne replays one recording, part by part.
func (p *program) replayOne(folder string, withoutNumbers bool, progress func(done, steps int)) (*replayed,
	error) {
	parts, err := record.Parts(folder)
	if err != nil {
		return nil, err
	}
	r := &replayed{Folder: folder, Numbers: !withoutNumbers}
	again := &player{program: p, result: r, progress: progress, modules: torch.FromEnvironment(p.stderr)}
	defer again.modules.Close()
	for _, first := range parts {
		if err := again.part(folder, first); err != nil {
			return nil, err
		}
	}
	again.end()
	s := again.staleness
	r.Own, r.Cross, r.OfPushes = s.Own.Summary(), s.Cross.Summary(), s.Dense.Summary()
	if m := again.measured; m != nil {
		r.Confirmed = true
		if r.Own != m.Own || r.Cross != m.Cross || r.OfPushes != m.Dense {
			return nil, fmt.Errorf("%s: staleness own %s, cross %s, dense %s; the run itself had measured "+
				"%s, %s, %s", folder,
				staleness(r.Own), staleness(r.Cross), staleness(r.OfPushes), staleness(m.Own),
				staleness(m.Cross), staleness(m.Dense))
		}
	}
	return r, nil
}

// player replays the parts of a recording.
type player struct {
	*program
	result    *replayed
	progress  func(done, steps int)
	modules   *torch.Modules
	job       job.Job
	source    batch.Source   // nil before the first part, and without numerics
	executor  *exec.Executor // as source
	staleness pace.Staleness
	measured  *record.Measured
}

// part replays the part of a recording that begins at a global step.
func (p *player) part(folder string, first int) error {
	files, err := record.Load(folder, first)
	if err != nil {
		return err
	}
	defer files.Close()
	j, err := job.Parse(files.Readers[0].Header().Job, folder+": the recorded job")
	if err != nil {
		return err
	}
	if first == 0 {
		p.job = j
	}
	rule, err := j.Rule()
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	recording, err := replay.New(rule, files.Readers)
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	if err := recording.CheckJob(&p.job); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	r := p.result
	if first != r.Steps {
		return fmt.Errorf("%s: the recording of steps %d to %d is missing; put the files of all steps into "+
			"the folder", folder, r.Steps, first-1)
	}
	meter := pace.NewMeter(j.Roles.Ranks, j.Roles.EmbeddingPSs)
	r.Job, r.Mode, r.Seed = j.Name, j.Training.Mode, j.Training.Seed
	r.Bytes, p.measured = r.Bytes+files.Bytes, files.Measured
	watch := observer(func(e event.Record) {
		if e.Kind == event.DenseApplied && e.Role == (msg.Address{Role: msg.NNWorker}) {
			p.progress(first+int(e.Step)+1, max(p.steps(), first+recording.Steps()))
		}
	})
	if r.Numbers {
		err = p.replayNumbers(first, recording, meter, watch)
	} else {
		err = r.take(recording.Events(meter, watch))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	s := meter.Staleness()
	p.staleness.Merge(&s)
	return nil
}

// steps returns the number of steps of the data, 0 if they are not open.
func (p *player) steps() int {
	if p.source == nil {
		return 0
	}
	return p.source.Steps()
}

// replayNumbers trains a part again, from a global step on.
func (p *player) replayNumbers(first int, recording *replay.Recording, observers ...event.Observer) error {
	if p.source == nil {
		if err := p.open(); err != nil {
			return err
		}
	}
	end, steps := first+recording.Steps(), p.source.Steps()
	if end > steps || end < steps && p.job.Rows.Hot.Choice(end) == p.job.Rows.Hot.Choice(first) {
		return fmt.Errorf("the data have %d steps, the recording has %d: they are not those of the run",
			steps, end)
	}
	if err := frequent.ChooseAgain(&p.job, p.source, first); err != nil {
		return err
	}
	if p.executor == nil {
		if err := p.execute(); err != nil {
			return err
		}
	} else if err := p.executor.SetHot(p.job.Rows.Hot.Rows()); err != nil {
		return err
	}
	p.executor.BeginAt(first)
	return p.result.take(recording.Replay(p.executor, observers...))
}

// open opens the data of the job.
func (p *player) open() error {
	data, err := datasets.Open(p.job.Data, p.dataDir)
	if err != nil {
		return err
	}
	cli.PrintNotes(p.stderr, "sim", data.Notes)
	p.source, err = datasets.TrainingSource(data, &p.job)
	return err
}

// execute makes the executor, with the hot rows of the first part.
func (p *player) execute() error {
	products, err := blas.FromEnvironment(p.stderr)
	if err != nil {
		return err
	}
	machine := backend.Backend{Products: products, Torch: p.modules.Engine}
	if _, err := engine.Attach(&machine, &p.job); err != nil {
		return err
	}
	p.executor, err = exec.New(p.job, p.source, machine)
	return err
}

// end sets what the replay of all parts has trained, and says if it is less than there are data.
func (p *player) end() {
	r := p.result
	if !r.Numbers {
		return
	}
	if r.Steps < p.source.Steps() {
		fmt.Fprintf(p.stderr, "sim: %s ends before step %d, and the data have %d steps: the training was "+
			"asked to end, or files of later steps are missing\n", r.Folder, r.Steps, p.source.Steps())
	}
	sum := uint64(0)
	for _, rows := range p.executor.Model().Tables() {
		sum += rows.Digest()
		r.RowCount += rows.Len()
	}
	r.Dense, r.Rows = fmt.Sprintf("%016x", p.executor.Model().DenseDigest()), fmt.Sprintf("%016x", sum)
}

// take adds the report of a part.
func (r *replayed) take(report replay.Report, err error) error {
	r.Roles, r.Inputs, r.Steps = report.Roles, r.Inputs+report.Inputs, r.Steps+report.Steps
	r.span += report.Span
	return err
}

func (r *replayed) writeText(w io.Writer) {
	fmt.Fprintf(w, "%s: job %s, mode %s, seed %d\n", r.Folder, r.Job, r.Mode, r.Seed)
	fmt.Fprintf(w, "  replayed: %d roles, %d inputs, %d steps, which took %.2f s; the recording has %d "+
		"bytes a step\n",
		r.Roles, r.Inputs, r.Steps, r.span.Seconds(), r.Bytes/int64(max(r.Steps, 1)))
	fmt.Fprintln(w, "  outputs are byte-equal")
	if r.Numbers {
		fmt.Fprintf(w, "  parameters are bit-equal: digest of the network %s, of %d rows %s\n", r.Dense,
			r.RowCount, r.Rows)
	} else {
		fmt.Fprintln(w, "  parameters were not computed")
	}
	as := "the run itself kept none to compare"
	if r.Confirmed {
		as = "as the run itself had measured"
	}
	dense := ""
	if r.OfPushes.Count > 0 {
		dense = "; dense " + staleness(r.OfPushes)
	}
	fmt.Fprintf(w, "  staleness: own %s; cross %s%s: %s\n", staleness(r.Own), staleness(r.Cross), dense, as)
}

// staleness formats a histogram.
func staleness(s histogram.Summary) string {
	return fmt.Sprintf("mean %.2f, max %d", s.Mean, s.Max)
}

// observer is a function that receives every record.
type observer func(event.Record)

// Observe implements event.Observer.
func (o observer) Observe(e event.Record) { o(e) }
