package main

import (
	"bytes"
	"cmp"
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
	"tandem/sim/cost"
	"tandem/sim/predict"
)

// fulfil simulates or trains. A table appears row by row, other reports once everything is known.
func (p *program) fulfil(q *request, given func(string) bool) error {
	if err := q.checkPage(); err != nil {
		return err
	}
	progress := cli.NewProgress(p.stderr, p.terminal)
	defer progress.Close()
	var text bytes.Buffer
	var err error
	switch q.kind {
	case trained:
		err = q.reportTraining(&text, progress)
	case single:
		err = q.reportSingle(&text, progress)
	case failing:
		err = q.reportGoodput(&text, p.stderr, given, progress)
	default:
		err = q.reportTable(io.MultiWriter(p.stdout, &text), p.stderr, given("gpus"), progress)
		return cmp.Or(err, q.writePage(text.String()))
	}
	if err != nil {
		return err
	}
	progress.Close()
	_, err = p.stdout.Write(text.Bytes())
	return cmp.Or(err, q.writePage(text.String()))
}

// reportTable predicts and writes the table of modes and numbers of GPUs.
func (q *request) reportTable(w, say io.Writer, chosen bool, progress *cli.Progress) error {
	begun := false
	r, err := q.predictAll(chosen, progress, say, func(o *prediction) error {
		if q.json {
			return nil
		}
		if !begun {
			begun = true
			cli.PrintNotes(say, "sim", q.notes)
			q.writeHead(w)
		}
		_, err := io.WriteString(w, q.row(o))
		return err
	})
	if err != nil {
		return err
	}
	q.shown = r.predictions
	switch {
	case q.json:
		return q.writeJSON(w, r)
	}
	return q.writeRest(w, r)
}

func (q *request) reportTraining(w io.Writer, progress *cli.Progress) error {
	cells, err := q.train(progress)
	if err != nil {
		return err
	}
	q.cells, q.shown = cells, predictionsOf(cells).predictions
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
	if q.cluster == thisMachine {
		return "ranks"
	}
	return "GPUs"
}

// writeHead writes what stands above the rows of the table.
func (q *request) writeHead(w io.Writer) {
	q.writeTitle(w)
	if q.samples > 1 {
		cli.Paragraph(w, fmt.Sprintf("Throughput in samples a second. Intervals are coarse: the 1st to 99th "+
			"percentile over %d points of what is not known, the same for all rows; sim run takes %d. %s",
			q.samples, predict.SamplesDefault, fitted(&q.hardware.System)), "")
	}
	if len(q.gpus) > 1 {
		fmt.Fprintf(w, "Efficiency (eff) is the throughput per GPU, relative to that on %s.\n",
			q.units(q.gpus[0]))
	}
	fmt.Fprintln(w, "Bounded by: the resource with the largest share of the critical path.")
	cost := ""
	if q.dollars > 0 {
		cost = "  $ per 10⁹"
	}
	fmt.Fprintf(w, "\n%-14s %5s %9s  %-16s %5s%s  %s\n", "mode", q.unitName(), "samples/s", "interval",
		"eff %", cost, "bounded by")
}

// bound returns the resource with the largest share of the critical path, and the share.
func (o *prediction) bound() string {
	if list := o.whole.Mid.Bottlenecks; len(list) > 0 {
		return list[0].String()
	}
	return "–"
}

// row returns the row of a prediction.
func (q *request) row(o *prediction) string {
	span, cost := "–", ""
	if o.whole.Interval != nil {
		span = rate(o.answer.Low) + " to " + rate(o.answer.High)
	}
	if q.dollars > 0 {
		cost = fmt.Sprintf("  %9.2f", q.cost(*o))
	}
	return fmt.Sprintf("%-14s %5d %9s  %-16s %5.0f%s  %s\n", o.mode, o.gpus, rate(o.answer.Throughput), span,
		100*o.efficiency, cost, o.bound())
}

// writeDoubts names predictions whose steps never settled, and those of which some GPUs stand for all.
func (q *request) writeDoubts(w io.Writer, r *result) error {
	for i := range r.predictions {
		o := &r.predictions[i]
		if o.answer.Unsettled {
			cli.Paragraph(w, fmt.Sprintf("%s on %s has %s.", o.mode, q.units(o.gpus),
				unsettledText(&o.answer.Result)), "  ")
		}
		if o.answer.Simulated > 0 {
			cli.Paragraph(w, fmt.Sprintf("%s on %s: %s.", o.mode, q.units(o.gpus),
				foldedText(&o.answer.Result, o.gpus)), "  ")
		}
	}
	return nil
}

// rate writes a throughput with three digits, as 41.9, 966 k or 1.03 M.
func rate(x float64) string {
	switch {
	case x >= 1e6:
		return digits(x/1e6) + " M"
	case x >= 1e4:
		return digits(x/1e3) + " k"
	}
	return digits(x)
}

// writeRest writes what stands below the rows of the table.
func (q *request) writeRest(w io.Writer, r *result) error {
	for _, part := range []func(io.Writer, *result) error{
		q.writeDoubts, q.writeRatios, q.writeSlow, q.writeFaults, q.writeResources,
		q.writeSensitivities, q.writeStaleness, q.writeDropped, q.writePublished,
	} {
		if err := part(w, r); err != nil {
			return err
		}
	}
	writeCounts(w, q.assumptions(), "sim run --parameters")
	if _, err := fmt.Fprintf(w, "\nTo repeat: %s\n", q.command); err != nil || !q.persia {
		return err
	}
	fmt.Fprintln(w, "\nNext:")
	for _, x := range nextQuestions {
		fmt.Fprintf(w, "  %s\n    %s\n", x.question, x.command)
	}
	return nil
}

// nextQuestions are what a user may ask behind the table of the default cluster, with their commands.
var nextQuestions = []struct{ question, command string }{
	{"What binds one of these, and what would a better part change?",
		"go run ./cmd/sim run --gpus 8 --mode hybrid"},
	{"Which cluster is faster, which is cheaper, and how sure is that?",
		"go run ./cmd/sim compare persia-gcp dgx-h100 --model criteo --gpus 8"},
	{"What is the cheapest cluster for 10⁹ samples within 6 hours?",
		"go run ./cmd/sim plan --train 1e9 --within 6h"},
}

// writeTitle says what is simulated, and on which cluster.
func (q *request) writeTitle(w io.Writer) {
	cli.Paragraph(w, fmt.Sprintf("%s on %s; %s.", q.job.Name, q.where(), q.batchText()), "  ")
	if settings := q.modeSettings(); settings != "" {
		cli.Paragraph(w, settings, "  ")
	}
}

// batchText says how large a batch is.
func (q *request) batchText() string {
	least, most := q.batchFor(q.gpus[0]), q.batchFor(q.gpus[len(q.gpus)-1])
	if least == most && (q.globalBatch > 0 || len(q.gpus) > 1) {
		return fmt.Sprintf("%d samples a step, on any number of %s", most, q.unitName())
	}
	return fmt.Sprintf("%d samples a batch and rank", most/q.gpus[len(q.gpus)-1])
}

// where describes the cluster.
func (q *request) where() string {
	s := &q.job.Cluster
	if q.cluster == thisMachine {
		return "this machine"
	}
	text := fmt.Sprintf("%s, %d a server", s.Accelerator, s.AcceleratorsPerServer)
	if s.AcceleratorsPerServer > 1 {
		text += " over " + s.Inside
	}
	if !q.graph() {
		text += fmt.Sprintf(", %s and %s", instances(&q.hardware.EmbeddingWorkers, "EWs"),
			instances(&q.hardware.EmbeddingPSs, "PSs"))
	}
	if s.NetworkRate > 0 {
		text += fmt.Sprintf(", network cards of %.4gGbps", float64(s.NetworkRate)*8/1e9)
	}
	return text + "; system " + s.System
}

// instances returns the number of a role's instances, and how they share hosts.
func instances(h *cost.HostGroup, role string) string {
	text := fmt.Sprintf("%d %s", h.Count.Mid*h.PerHost, role)
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

// units writes a number of GPUs, as "1 GPU".
func (q *request) units(n int) string {
	name := q.unitName()
	if n == 1 {
		name = strings.TrimSuffix(name, "s")
	}
	return fmt.Sprintf("%d %s", n, name)
}

// cost returns the dollars for 10⁹ samples.
func (q *request) cost(o prediction) float64 {
	return q.dollars * float64(o.gpus) / 3600 / o.answer.Throughput * 1e9
}

// writeRatios compares the modes on most GPUs, point by point of what is not known.
func (q *request) writeRatios(w io.Writer, r *result) error {
	ratios := r.ratios()
	if len(ratios) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nThroughput relative to another mode, with its interval (coarse), on %d %s:\n",
		r.last(job.Hybrid).gpus, q.unitName())
	for _, x := range ratios {
		span := ""
		if x.Low != nil {
			span = fmt.Sprintf("(%s to %s)", digits(*x.Low), digits(*x.High))
		}
		fmt.Fprintf(w, "  %-30s %5s  %s\n", x.Of+"/"+x.To, digits(x.Ratio), span)
	}
	return nil
}

// ratio is the throughput of one mode relative to another.
type ratio struct {
	Of    string   `json:"of"`
	To    string   `json:"to"`
	GPUs  int      `json:"gpus"`
	Ratio float64  `json:"ratio"`
	Low   *float64 `json:"low"` // nil without samples
	High  *float64 `json:"high"`
}

// ratios compares hybrid with sync, and the asynchronous modes with hybrid.
func (r *result) ratios() (list []ratio) {
	hybrid := r.last(job.Hybrid)
	if hybrid == nil {
		return nil
	}
	add := func(of, to string, gpus int, a, b *predict.Prediction) {
		x := ratio{Of: of, To: to, GPUs: gpus, Ratio: a.Mid.Throughput / b.Mid.Throughput}
		if span := predict.Ratio(a, b); span != nil {
			x.Low, x.High = &span.Low, &span.High
		}
		list = append(list, x)
	}
	if sync := r.last(job.Sync); sync != nil && sync.gpus == hybrid.gpus {
		add(job.Hybrid, job.Sync, hybrid.gpus, hybrid.whole, sync.whole)
		add(job.Hybrid, "sync without overlap", hybrid.gpus, hybrid.whole, r.plain)
	}
	for i := range r.predictions {
		o := &r.predictions[i]
		if o.gpus == hybrid.gpus && o.mode != job.Sync && o.mode != job.Hybrid {
			add(o.mode, job.Hybrid, o.gpus, o.whole, hybrid.whole)
		}
	}
	return list
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
		if o == nil {
			continue
		}
		for _, x := range o.answer.Stations[:min(3, len(o.answer.Stations))] {
			list = append(list, fmt.Sprintf("%s %.0f %%", x.Name, 100*x.Busy))
		}
		fmt.Fprintf(w, "  %-*s %s\n", width, mode, cli.WrapAt(strings.Join(list, ", "),
			strings.Repeat(" ", width+3), width+3, cli.TextColumns(w)))
	}
	return nil
}

func (q *request) writeSensitivities(w io.Writer, r *result) error {
	detail := r.detail()
	fmt.Fprintf(w, "\nA tenth better would change the throughput of %s on %d %s by:\n", detail.mode,
		detail.gpus,
		q.unitName())
	for _, s := range r.sensitivities[:min(3, len(r.sensitivities))] {
		fmt.Fprintf(w, "  %+5.1f %%  %s\n", 100*s.Change, s.Name)
	}
	return nil
}

func (q *request) writeStaleness(w io.Writer, r *result) error {
	if q.kind != trained && q.graph() {
		return nil
	}
	o, rule, err := q.staleOf(r)
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

// staleOf returns the prediction of hybrid, or of the last mode whose reads may be stale, and the mode's
// rule; nil without such a mode.
func (q *request) staleOf(r *result) (*prediction, pace.Rule, error) {
	modes := q.modes
	if slices.Contains(modes, job.Hybrid) {
		modes = []string{job.Hybrid}
	}
	for _, mode := range slices.Backward(modes) {
		o := r.last(mode)
		if o == nil {
			continue
		}
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
	fmt.Fprintln(w)
	cli.Paragraph(w, "For reference, hybrid on Criteo. Persia's figures are digitised from a figure, and "+
		"nothing is fitted to them:", "")
	t := cli.Table{Header: []string{"GPUs", "samples/s here", "interval", "of Persia", "in our interval"}}
	for _, x := range rows {
		inside := "no"
		switch {
		case x.GPUs == 1: // another configuration, of which the sentence below speaks
			inside = "see below"
		case x.Inside:
			inside = "yes"
		}
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(x.GPUs), rate(x.Throughput), rate(x.Low) + " to " + rate(x.High), rate(x.Published),
			inside,
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
	cli.Paragraph(w, fmt.Sprintf("Persia's bar for 1 GPU has dense communication; without it, as here, its "+
		"figure shows %s, %s our interval.", rate(aloneDigitised), inside), "  ")
	return nil
}

// writeCounts writes how many quantities of each kind are assumed, and the command that lists them unless it
// is empty.
func writeCounts(w io.Writer, list []cost.Assumption, command string) {
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
	text := fmt.Sprintf("%d quantities are assumed: %s", len(list), strings.Join(counts, ", "))
	if command != "" {
		text += "; " + command + " lists them"
	}
	fmt.Fprintln(w)
	cli.Paragraph(w, text+".", "  ")
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

// labelled returns a function that writes a line behind a name in a number of columns, and wraps it there.
func labelled(w io.Writer, columns int) func(name, format string, args ...any) {
	return func(name, format string, args ...any) {
		text := cli.WrapAt(fmt.Sprintf(format, args...), strings.Repeat(" ", columns), columns,
			cli.TextColumns(w))
		fmt.Fprintf(w, "%-*s%s\n", columns, name, text)
	}
}
