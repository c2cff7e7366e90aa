package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/protocol/pace"
	"tandem/algo/quantity"
	"tandem/internal/cli"
)

// fulfil simulates or trains, and writes the report once everything is known.
func (p *program) fulfil(q *request) error {
	progress := cli.NewProgress(p.stderr, p.terminal)
	defer progress.Close()
	var text bytes.Buffer
	var err error
	if q.kind == trained {
		err = q.reportTraining(&text, progress)
	} else {
		err = q.reportPredictions(&text, progress)
	}
	if err != nil {
		return err
	}
	progress.Close()
	_, err = p.stdout.Write(text.Bytes())
	return err
}

func (q *request) reportPredictions(w io.Writer, progress *cli.Progress) error {
	r, err := q.run(progress)
	if err != nil {
		return err
	}
	if err := q.writeTrace(r); err != nil {
		return err
	}
	if q.json {
		return q.writeJSON(w, r)
	}
	return q.writeText(w, r)
}

func (q *request) reportTraining(w io.Writer, progress *cli.Progress) error {
	cells, err := q.train(progress)
	if err != nil {
		return err
	}
	if err := q.writeTrace(predictionsOf(cells)); err != nil {
		return err
	}
	if q.json {
		return q.writeTrainingJSON(w, cells)
	}
	return q.writeTraining(w, cells)
}

// unitName returns what a rank runs on.
func (q *request) unitName() string {
	if q.cluster == "this-machine" {
		return "ranks"
	}
	return "GPUs"
}

func (q *request) writeText(w io.Writer, r *result) error {
	ranges := "Ranges span every unknown quantity"
	if q.cluster == "this-machine" {
		ranges = "The machine's speed was measured just now"
		if s := r.scale(); slices.ContainsFunc(r.predictions,
			func(o prediction) bool { return s.text(o.answer.Low) != s.text(o.answer.High) }) {
			ranges += "; ranges span its unknown quantities"
		}
	}
	fmt.Fprintln(w, q.title())
	fmt.Fprintf(w, "%s; nothing is fitted.\n", ranges)
	for _, part := range []func(io.Writer, *result) error{
		q.writeRuns, q.writeComparison, q.writeFaults, q.writeResources, q.writeSensitivities,
		q.writeStaleness, q.writeDropped,
		q.writePublished, q.writeAssumptions,
	} {
		if err := part(w, r); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nTo repeat: %s\n", q.command)
	return nil
}

// title says what is simulated, and on which cluster.
func (q *request) title() string {
	text := cli.Wrap(fmt.Sprintf("%s on %s; %d samples a batch and rank.", q.job.Name, q.where(), q.batch),
		"  ")
	if settings := q.modeSettings(); settings != "" {
		text += "\n" + cli.Wrap(settings, "  ")
	}
	return text
}

// where describes the cluster.
func (q *request) where() string {
	s := &q.job.Cluster
	if q.cluster == "this-machine" {
		return "this machine"
	}
	text := fmt.Sprintf("%s, %d a server", s.Accelerator, s.AcceleratorsPerServer)
	if s.AcceleratorsPerServer > 1 {
		text += " over " + s.Inside
	}
	text += fmt.Sprintf(", %s and %s", instances(&s.EmbeddingWorkers, "EWs"),
		instances(&s.EmbeddingPSs, "PSs"))
	if s.NetworkRate > 0 {
		text += fmt.Sprintf(", %v network", s.NetworkRate)
	}
	return text
}

// instances returns the number of a role's instances, and how they share hosts.
func instances(h *job.Hosts, role string) string {
	text := fmt.Sprintf("%d %s", h.Count*h.PerHost, role)
	if h.PerHost > 1 {
		text += fmt.Sprintf(" (%d a host)", h.PerHost)
	}
	return text
}

// modeSettings returns the settings that the modes have of their own, on the largest number
// of GPUs: defaults may depend on it.
func (q *request) modeSettings() string {
	largest := q.gpus[len(q.gpus)-1]
	var all []string
	for _, mode := range q.modes {
		j := q.jobFor(mode, largest)
		if own := j.ModeSettingsText(); own != "" {
			all = append(all, own)
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case len(q.gpus) == 1:
		return "Mode settings: " + strings.Join(all, "; ") + "."
	}
	return fmt.Sprintf("Mode settings on %d %s: %s.", largest, q.unitName(), strings.Join(all, "; "))
}

// base returns what efficiency is relative to, as "1 GPU".
func (q *request) base() string {
	unit := q.unitName()
	if q.gpus[0] == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return fmt.Sprintf("%d %s", q.gpus[0], unit)
}

// writeRuns prints the table of predictions.
func (q *request) writeRuns(w io.Writer, r *result) error {
	s := r.scale()
	t := cli.Table{Header: []string{"mode", q.unitName(), s.unit, "range"}, Words: 1}
	several := len(q.gpus) > 1
	if several {
		fmt.Fprintf(w, "Efficiency is the throughput per GPU, relative to that on %s.\n", q.base())
		t.Header = append(t.Header, "efficiency %")
	}
	t.Header = append(t.Header, "step ms")
	if q.dollars > 0 {
		t.Header = append(t.Header, "$ per 10⁹ samples")
	}
	t.Header = append(t.Header, "bounded by")
	for _, o := range r.predictions {
		a := &o.answer
		row := []string{o.mode, strconv.Itoa(o.gpus), s.text(a.Throughput), s.span(a.Low, a.High)}
		if several {
			row = append(row, strconv.FormatFloat(100*o.efficiency, 'f', 0, 64))
		}
		row = append(row, strconv.FormatFloat(1e3*a.StepTime.Seconds(), 'f', 2, 64))
		if q.dollars > 0 {
			row = append(row, strconv.FormatFloat(q.cost(o), 'f', 2, 64))
		}
		bottleneck, _, _ := strings.Cut(a.Bottleneck, " (") // the title has the wire
		t.Rows = append(t.Rows, append(row, bottleneck))
	}
	if err := t.WriteText(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, cli.Stages)
	return err
}

// cost returns the dollars for 10⁹ samples.
func (q *request) cost(o prediction) float64 {
	return q.dollars * float64(o.gpus) / 3600 / o.answer.Throughput * 1e9
}

func (q *request) writeComparison(w io.Writer, r *result) error {
	sync, hybrid := r.last(job.Sync), r.last(job.Hybrid)
	if sync == nil || hybrid == nil {
		return nil
	}
	h, s := &hybrid.answer, &sync.answer
	ratios := []float64{h.Throughput / s.Throughput, h.Low / s.Low, h.High / s.High}
	_, err := fmt.Fprintf(w, "\nHybrid on %d %s is %.2f times as fast as sync (%.2f to %.2f at the ends of "+
		"the ranges), which\n"+
		"overlaps ids and DS, and %.2f times as fast as sync without any overlap, as in Persia's paper.\n",
		hybrid.gpus, q.unitName(), ratios[0], slices.Min(ratios), slices.Max(ratios),
		h.Throughput/r.plain.Throughput)
	return err
}

func (q *request) writeResources(w io.Writer, r *result) error {
	fmt.Fprintf(w, "\nBusiest stations on %d %s, share of the time:\n", q.gpus[len(q.gpus)-1], q.unitName())
	width := 7
	for _, mode := range q.modes {
		width = max(width, len(mode))
	}
	for _, mode := range q.modes {
		var list []string
		o := r.last(mode)
		for _, x := range o.answer.Stations[:min(3, len(o.answer.Stations))] {
			list = append(list, fmt.Sprintf("%s %.0f %%", x.Name, 100*x.Busy))
		}
		fmt.Fprintf(w, "  %-*s %s\n", width, mode, strings.Join(list, ", "))
		if s := o.answer.StageTimes; q.kind == single {
			fmt.Fprintf(w, "  %-*s medians, which overlap: GE %v, FC %v, BC %v, DS %v, PEG %v\n  %-*s %d "+
				"messages, %v a step\n", width, "",
				s[pace.GE], s[pace.FC], s[pace.BC], s[pace.DS], s[pace.PEG],
				width, "", o.answer.Messages, o.answer.Bytes)
		}
	}
	return nil
}

func (q *request) writeSensitivities(w io.Writer, r *result) error {
	last := r.predictions[len(r.predictions)-1]
	fmt.Fprintf(w, "\nA tenth better would change the throughput of %s on %d %s by:\n", last.mode, last.gpus,
		q.unitName())
	shown := r.sensitivities
	if q.kind != single {
		shown = shown[:min(3, len(shown))]
	}
	for _, s := range shown {
		fmt.Fprintf(w, "  %+5.1f %%  %s\n", 100*s.Change, s.Name)
	}
	return nil
}

func (q *request) writeStaleness(w io.Writer, r *result) error {
	o, rule, err := q.lastAsynchronous(r)
	if o == nil || err != nil {
		return err
	}
	bounds, s := rule.Bounds(o.gpus), &o.answer.Staleness
	fmt.Fprintf(w, "\nStaleness of reads, %s on %d %s, τ = %d, in batches missed:\n",
		o.mode, o.gpus, q.unitName(), o.answer.Depth-1)
	for _, x := range []struct {
		name      string
		histogram *histogram.Histogram
		bound     int
	}{
		{"own rank's", &s.Own, bounds.Own}, {"each other rank's", &s.Cross, bounds.Cross},
		{"outstanding", &s.Inflight, bounds.Inflight},
	} {
		promised := "nothing promised"
		if x.bound < pace.Unbounded {
			promised = fmt.Sprintf("promised %d", x.bound)
		}
		fmt.Fprintf(w, "  %-18s mean %6.1f, 99 %% up to %4d, at most %4d; %s\n",
			x.name, x.histogram.Mean(), x.histogram.Quantile(0.99), x.histogram.Max(), promised)
	}
	return nil
}

// lastAsynchronous returns the prediction of the last mode whose reads may be stale, and
// the mode's rule; nil without such a mode.
func (q *request) lastAsynchronous(r *result) (*prediction, pace.Rule, error) {
	for _, mode := range slices.Backward(q.modes) {
		o := r.last(mode)
		j := q.jobFor(mode, o.gpus)
		rule, err := j.Rule()
		if err != nil || !rule.InStep() {
			return o, rule, err
		}
	}
	return nil, nil, nil
}

// writePublished prints Persia's figures beside the predictions.
func (q *request) writePublished(w io.Writer, r *result) error {
	rows := q.published(r)
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nFor reference, hybrid on Criteo (Persia's figures are digitised from a figure; "+
		"nothing is fitted to them):\n")
	t := cli.Table{Header: []string{"GPUs", "1000 samples/s here", "range", "1000 samples/s of Persia",
		"in our range"}}
	s := scale{"1000 samples/s", 1000, 1} // the digits of Persia's figures
	for _, x := range rows {
		inside := "no"
		if x.Inside {
			inside = "yes"
		}
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(x.GPUs), s.text(x.Throughput), s.span(x.Low, x.High), s.text(x.Published), inside,
		})
	}
	if err := t.WriteText(w); err != nil {
		return err
	}
	alone := rows[0]
	if alone.GPUs > 1 {
		return nil
	}
	inside := "outside"
	if alone.holds(aloneDigitised) {
		inside = "inside"
	}
	_, err := fmt.Fprintf(w, "Persia's bar for 1 GPU has dense communication; without it, as here, its "+
		"figure shows %s, %s our range.\n",
		s.text(aloneDigitised), inside)
	return err
}

func (q *request) writeAssumptions(w io.Writer, r *result) error {
	list := r.assumptions()
	var counts []string
	for _, kind := range kinds() {
		n := 0
		for _, a := range list {
			if a.Kind == kind {
				n++
			}
		}
		counts = append(counts, fmt.Sprintf("%d %s", n, kind))
	}
	fmt.Fprintf(w, "\n%d quantities are assumed: %s", len(list), strings.Join(counts, ", "))
	if q.kind != single {
		fmt.Fprintf(w, "; sim run lists them.\n")
		return nil
	}
	fmt.Fprintf(w, ".\n")
	return writeParameters(w, list)
}

// kinds returns the kinds of quantities, the most certain first.
func kinds() []quantity.Kind {
	return []quantity.Kind{quantity.Measured, quantity.Calibrated, quantity.Default, quantity.Guessed}
}

// reference is a prediction beside a published figure.
type reference struct {
	GPUs       int     `json:"gpus"`
	Throughput float64 `json:"throughput_samples_per_s"`
	Low        float64 `json:"throughput_low"`
	High       float64 `json:"throughput_high"`
	Published  float64 `json:"published_digitised_samples_per_s"`
	Inside     bool    `json:"published_in_range"`
}

// holds reports whether a throughput lies in the range of the prediction.
func (x *reference) holds(throughput float64) bool {
	return x.Low <= throughput && throughput <= x.High
}

// published pairs the predictions with Persia's figures, if the request is Persia's experiment.
func (q *request) published(r *result) []reference {
	var list []reference
	for _, x := range digitised() {
		for _, o := range r.predictions {
			if q.persia && o.mode == job.Hybrid && o.gpus == x.gpus {
				a := &o.answer
				row := reference{GPUs: o.gpus, Throughput: a.Throughput, Low: a.Low, High: a.High,
					Published: x.throughput}
				row.Inside = row.holds(x.throughput)
				list = append(list, row)
			}
		}
	}
	return list
}
