package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"tandem/algo/exec/evaluation"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/fault"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/blas"
	"tandem/runtime/train"
)

// report is what the program prints, as text or as the object of --json.
type report struct {
	processes  bool   // the roles are in processes
	Data       string `json:"data"`
	Provenance string `json:"provenance"`
	TrainRows  int    `json:"train_rows"`
	TestRows   int    `json:"test_rows"`
	// OracleAUC is the AUC of the true probabilities of generated data, OracleR2 their R² with squared loss.
	OracleAUC   float64 `json:"oracle_auc,omitempty"`
	OracleR2    float64 `json:"oracle_r2,omitempty"`
	OracleHeads []head  `json:"oracle_heads,omitempty"` // for each of several labels
	DroppedRows int     `json:"dropped_rows"`
	guess
	chosen
	Model      string  `json:"model"`
	Engine     string  `json:"engine"`        // what multiplies the matrices of the network
	EngineRate float64 `json:"engine_gflops"` // its speed, measured before the runs
	// Torch is the version of torch that ran a module, and its GPU if it has one; empty: there is none.
	Torch string `json:"torch,omitempty"`
	// Devices are the GPUs that compute the network of the ranks; none: the processors do.
	Devices     []string `json:"devices,omitempty"`
	Seed        uint64   `json:"seed"`
	WallSeconds float64  `json:"wall_s"`
	// ResumedAt is the number of steps of the checkpoint that the training continued, 0 without --resume.
	ResumedAt   int          `json:"resumed_at_step,omitempty"`
	Seeds       int          `json:"seeds"`
	Runs        []row        `json:"runs"`
	Baselines   []row        `json:"baselines"`
	Comparisons []comparison `json:"comparisons"`
	Worth       *modelWorth  `json:"worth"` // null where the labels are no classes
	Simulated   []prediction `json:"simulated"`
	// Unsimulated says of modes why they are not, as where the cluster has no GPUs for rows on GPUs.
	Unsimulated []string `json:"unsimulated,omitempty"`

	// Reading is, by mode, the share of a run's time in which its data loader was
	// waiting for rows.
	Reading map[string]float64 `json:"reading"`

	job      job.Job
	followed map[string]followed // of the first seed, by mode
	pauses   map[string][]pause  // to save checkpoints, of the first seed, by mode
}

// row is one model, trained with one seed or several. AUC and log loss are for the first label.
// AUC, log loss and samples/s are means over seeds; counts are for one seed.
type row struct {
	Mode string `json:"mode"`
	// ModeSettings are those of the mode alone, defaults included.
	ModeSettings map[string]int `json:"mode_settings,omitempty"`
	measures
	// AUCStandardError is by the draw of the test rows, after DeLong, with the first seed; null where a class
	// has fewer than two rows.
	AUCStandardError *float64 `json:"auc_standard_error"`
	// Model is the folder of the trained model in the results, of the first seed, where there is one.
	Model            string  `json:"model,omitempty"`
	Heads            []head  `json:"heads,omitempty"` // every label, if there are several
	Samples          int     `json:"samples"`
	SamplesPerSecond float64 `json:"samples_per_s"`
	Steps            int     `json:"steps"`
	Ranks            int     `json:"ranks"`
	// Depth is how many batches a rank may have outstanding.
	Depth          int               `json:"depth"`
	Processes      int               `json:"processes"`       // that the roles were in
	Staleness      histogram.Summary `json:"staleness"`       // own
	StalenessCross histogram.Summary `json:"staleness_cross"` // per other rank
	// StalenessDense is in pushes, per push to a dense PS.
	StalenessDense   histogram.Summary `json:"staleness_dense"`
	MissedUpdates    histogram.Summary `json:"missed_updates"`              // per row gradient
	DroppedGradients uint64            `json:"dropped_gradients,omitempty"` // by the mode, over all seeds
	// HotRows is the number of rows updated without delay in the first seed's training. HotGradients is the
	// number of their gradients over all seeds, which MissedUpdates counts too.
	HotRows      int    `json:"hot_rows,omitempty"`
	HotGradients uint64 `json:"hot_gradients,omitempty"`
	// HotChoices are the choices of hot rows on the way, of the first seed's training.
	HotChoices    []train.HotChoice `json:"hot_choices,omitempty"`
	EmbeddingRows rowStore          `json:"embedding_rows"` // of the first seed
	// Faults are those injected, over all seeds, if there are roles and a plan.
	Faults *fault.Counts `json:"faults,omitempty"`

	// Calibration and Gains are of the first label and seed; null where the labels are no classes.
	Calibration []metric.Bin  `json:"calibration"`
	Gains       []metric.Gain `json:"gains"`

	// Curve is of the first seed: the evaluations during training, if there were
	// any, and the one after it.
	Curve []evaluation.Point `json:"curve"`

	Checkpoints []pause `json:"checkpoints,omitempty"` // of the first seed, during training
	// Recoveries are those of the first seed, from the loss of processes.
	Recoveries []recovery `json:"recoveries,omitempty"`
	Replays    []replay   `json:"replays,omitempty"`

	hot        bool       // it has hot rows
	histograms []measured // behind the summaries; own staleness first
	scores     []float64  // AUC, or R² with squared loss, by seed
	predicted  []float32  // of the first seed
}

func newReport(j job.Job, data *datasets.Dataset, products gemm.Products) *report {
	var best evaluation.Scores
	var bestHeads []head
	for i, one := range oracle(data, j.Model.Loss) {
		if i == 0 {
			best = one.Scores
		}
		if len(data.Schema.Labels) > 1 {
			bestHeads = append(bestHeads, head{Label: one.Label, measures: measures{Scores: one.Scores}})
		}
	}
	return &report{
		OracleAUC: best.AUC, OracleR2: best.R2, OracleHeads: bestHeads, Data: data.Name,
		Provenance: data.Provenance,
		TrainRows:  data.TrainRows(), TestRows: data.Test.Samples, DroppedRows: data.DroppedRows,
		Model: j.Model.Kind, Engine: products.Name(), EngineRate: blas.GFLOPS(products),
		Seed: j.Training.Seed, Baselines: []row{}, Simulated: []prediction{}, job: j,
		guess:    newGuess(data, j.Model.Loss),
		followed: map[string]followed{}, pauses: map[string][]pause{},
	}
}

func (r *report) add(c variant, results []*train.Result, stores []rowStore) {
	r.Seeds = len(results)
	first := results[0]
	line := row{Mode: c.name, ModeSettings: first.Job.ModeValues(), Heads: heads(results), Curve: first.Curve,
		Samples: first.Samples, Steps: first.Steps,
		Ranks: first.Job.Roles.Ranks, Depth: first.Job.Depth(), Processes: first.Processes,
		EmbeddingRows: stores[0], HotRows: first.HotRows,
		HotChoices: first.HotChoices, predicted: first.Probabilities,
		hot: first.Job.Training.HotRows != nil || first.Job.ChoosesHotRows(), Checkpoints: r.pauses[c.name],
		Recoveries: recoveries(first), Replays: replays(first)}
	var own, cross, dense, missed histogram.Histogram
	var faults fault.Counts
	var scores []evaluation.Scores
	for _, result := range results {
		scores = append(scores, result.Scores)
		line.SamplesPerSecond += float64(result.Samples) / result.Wall.Seconds() / float64(len(results))
		own.Merge(&result.Staleness.Own)
		cross.Merge(&result.Staleness.Cross)
		dense.Merge(&result.Staleness.Dense)
		missed.Merge(&result.MissedUpdates)
		line.HotGradients += result.HotGradients
		line.DroppedGradients += result.Staleness.Dropped
		faults = faults.Add(result.Faults)
	}
	if faults != (fault.Counts{}) {
		line.Faults = &faults
	}
	line.measures, line.scores = measuresOf(first.Job.Model.Loss, scores)
	line.Staleness, line.StalenessCross, line.StalenessDense, line.MissedUpdates = own.Summary(),
		cross.Summary(), dense.Summary(), missed.Summary()
	line.histograms = []measured{{"own", own}, {"cross", cross}, {"dense", dense}, {"missed", missed}}
	line.AUCStandardError = r.standardError(first.Probabilities)
	if r.classes {
		line.Calibration = metric.Reliability(first.Probabilities, r.labels, calibrationBins)
		line.Gains = metric.Gains(first.Probabilities, r.labels, gainShares)
	}
	if c.baseline {
		r.Baselines = append(r.Baselines, line)
		return
	}
	r.Runs = append(r.Runs, line)
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *report) writeText(w io.Writer) error {
	j := r.job
	fmt.Fprintf(w, "%s: %d training rows, %d test rows", r.Data, r.TrainRows, r.TestRows)
	if r.DroppedRows > 0 {
		fmt.Fprintf(w, ", %s dropped", plural(r.DroppedRows, "malformed row"))
	}
	fmt.Fprintf(w, "\n%s", r.Provenance)
	if best := cmp.Or(r.OracleAUC, r.OracleR2); best != 0 {
		score, _ := evaluation.ScoreNames(j.Model.Loss)
		fmt.Fprintf(w, "; the best reachable %s is %.4f", score, best)
	}
	fmt.Fprintf(w, "\n%s\n", r.network())
	if len(r.Devices) > 0 {
		fmt.Fprintf(w, "the network of the ranks on %s\n", strings.Join(r.Devices, ", "))
	}
	cli.Paragraph(w, fmt.Sprintf("%s, %s, %s%s", plural(j.Roles.Ranks, "rank"),
		plural(j.Roles.EmbeddingWorkers, "embedding worker"), plural(j.Roles.EmbeddingPSs, "embedding PS"),
		r.modeSettings()), "  ")
	if r.processes {
		placed := "a process for every role, on this machine"
		if text := j.Roles.Placement.String(); text != job.Apart {
			placed = "roles in processes of this machine: " + text
		}
		fmt.Fprintln(w, placed+", wherever there are roles")
	}
	fmt.Fprintf(w, "%s of %d samples%s, %s, seed %d%s\n\n", plural(r.Runs[0].Steps, "step"),
		j.Training.GlobalBatch, r.resumed(), plural(j.Training.Epochs, "epoch"),
		j.Training.Seed, r.furtherSeeds())
	table := r.table()
	if err := table.WriteText(w); err != nil {
		return err
	}
	fmt.Fprint(w, r.legend(table))
	r.writeGuess(w)
	if err := r.writeChosen(w); err != nil {
		return err
	}
	r.writeReading(w)
	r.writeHotRows(w)
	r.writeDropped(w)
	r.writeRows(w)
	if len(r.job.Slow) > 0 {
		fmt.Fprintf(w, "Slow, times as long for each piece of work: %s\n", r.job.Slow)
	}
	r.writeFaults(w)
	for _, c := range r.Comparisons {
		cli.Paragraph(w, c.String(), "  ")
	}
	if err := r.writeHeads(w); err != nil {
		return err
	}
	if err := r.writeCurveTable(w); err != nil {
		return err
	}
	return r.writeSimulated(w)
}

// network says which network is trained, and what computes it.
func (r *report) network() string {
	if spec := r.job.Model; spec.Kind == model.Torch {
		return fmt.Sprintf("%s of %s, in PyTorch %s", spec.Class, filepath.Base(spec.File), r.Torch)
	}
	return fmt.Sprintf("%s on %s: %.0f GFLOP/s on this machine", r.Model, r.Engine, r.EngineRate)
}

// table returns the table of all trainings.
func (r *report) table() cli.Table {
	gain, err := evaluation.ScoreNames(r.job.Model.Loss)
	table := cli.Table{
		Header: []string{"mode", gain, err, "samples/s", "own", "cross", "row", "shard"}, Words: 1,
	}
	for _, line := range slices.Concat(r.Runs, r.Baselines) {
		table.Rows = append(table.Rows, []string{
			line.Mode, line.gainText(), line.errorText(),
			fmt.Sprintf("%.0f", line.SamplesPerSecond),
			staleness(line.Staleness), staleness(line.StalenessCross), staleness(line.MissedUpdates),
			staleness(line.StalenessDense),
		})
	}
	return table
}

// writeHotRows prints how much of a training was never late.
func (r *report) writeHotRows(w io.Writer) {
	for _, line := range r.Runs {
		if !line.hot {
			continue
		}
		share := 100 * float64(line.HotGradients) / float64(max(line.MissedUpdates.Count, 1))
		fmt.Fprintf(w, "%s: %s of %d had %.0f %% of the row gradients, without delay\n", line.Mode,
			plural(line.HotRows, "hot row"), line.EmbeddingRows.Rows, share)
		if n := len(line.HotChoices); n > 0 {
			hot, cold := 0, 0
			for _, c := range line.HotChoices {
				hot, cold = hot+c.Promoted, cold+c.Demoted
			}
			fmt.Fprintf(w, "%s: the hot rows were chosen again %s: %s became hot, and %d cold\n", line.Mode,
				plural(n, "time"), plural(hot, "row"), cold)
		}
		if share == 100 {
			fmt.Fprintf(w, "%s: all rows are hot, so no row is late: a larger share leaves some on the PSs\n",
				line.Mode)
		}
	}
}

// writeFaults prints the faults injected into each run.
func (r *report) writeFaults(w io.Writer) {
	plan := &r.job.Faults
	if !plan.Any() {
		return
	}
	fmt.Fprintf(w, "Faults: %s\n", plan)
	for _, line := range r.Runs {
		if line.Faults == nil {
			fmt.Fprintf(w, "  %s: no roles and no messages, so no faults\n", line.Mode)
			continue
		}
		fmt.Fprintf(w, "  %s: %v", line.Mode, line.Faults)
		if planned := int64(len(plan.Crashes) * r.Seeds); line.Faults.Crashes < planned {
			fmt.Fprintf(w, " of %d planned; the others were due after the last step", planned)
		}
		fmt.Fprintln(w)
	}
}

// modeSettings returns the settings of the modes that were trained.
func (r *report) modeSettings() string {
	j := r.job
	var settings []string
	add := func(setting string) {
		if !slices.Contains(settings, setting) { // modes share settings
			settings = append(settings, setting)
		}
	}
	for _, line := range r.Runs {
		one := j.InMode(line.Mode)
		rule, err := one.Rule()
		if err != nil {
			continue // sequential or delayed: without roles
		}
		if !rule.InStep() {
			text := fmt.Sprintf("asynchronous embeddings: τ = %d", line.Depth-1)
			if steps := j.Training.StalenessWarmUp; steps > 0 {
				text += fmt.Sprintf(", which grows from 0 in the first %d steps", steps)
			}
			add(text)
		}
		if rule.Dense().DensePSs {
			add(plural(j.Roles.DensePSs, "dense PS"))
		}
		if text := one.ModeSettingsText(); text != "" {
			add(text)
		}
	}
	if len(settings) == 0 {
		return ""
	}
	return "; " + strings.Join(settings, "; ")
}

// plural formats a count of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func (r *report) furtherSeeds() string {
	if r.Seeds == 1 {
		return ""
	}
	return fmt.Sprintf(" to %d", r.Seed+uint64(r.Seeds)-1)
}

// staleness formats a histogram; sequential training has none unless delayed.
func staleness(s histogram.Summary) string {
	if s.Count == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f / %d", s.Mean, s.Max)
}
