package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/runtime/train"
	"tandem/sim/goodput"
	"tandem/sim/predict"
)

// failingReport is the prediction of a training that fails, and what its report shows besides.
type failingReport struct {
	request *request
	given   func(string) bool
	start   time.Time
	job     *predict.Job
	*predict.Prediction
	plan     *goodput.Plan
	size     *goodput.Size // of a checkpoint; nil if its times were given
	estimate goodput.Estimate
	points   []goodput.Point // of intervals; none without checkpoints
	best     int
	auto     float64  // useful share where the runtime chooses
	price    *float64 // dollars an hour; nil if not known
	onDemand *float64 // without --spot
	noPrice  string   // why it is not known
	pays     *float64 // share of the price below which spot machines are worth it; nil: not known
}

// reportGoodput predicts a training that fails, and writes the report.
func (q *request) reportGoodput(w, say io.Writer, given func(string) bool, progress *cli.Progress) error {
	d := &failingReport{request: q, given: given, start: time.Now(),
		job: q.question(q.modes[0], q.gpus[0])}
	kinds, err := q.kinds(d.job, q.failures.preempted)
	if err != nil {
		return err
	}
	o := q.predictions()
	o.Done = func(done, all int) { progress.Show(done, all, "samples") }
	if d.Prediction, err = predict.Run(context.Background(), d.job, o); err != nil {
		return err
	}
	d.onDemand, d.noPrice = q.dollarsPerHour(d.job)
	d.price = d.priceAt(q.failures.spot)
	if d.plan, d.size, err = q.plan(d, kinds); err != nil {
		return err
	}
	if err := d.simulate(); err != nil {
		return err
	}
	if between := d.plan.Between(); d.plan.Every > between && !q.failures.every.Auto {
		cli.PrintNotes(say, "sim", []string{fmt.Sprintf("--checkpoint-every %s is longer than the mean "+
			"time between failures, %s: most parts between two checkpoints are trained several times",
			span(d.plan.Every), span(between))})
	}
	if q.json {
		return printJSON(w, d.document())
	}
	return d.writeText(w)
}

// eventsMax bounds the failures and checkpoints of all simulated trainings with one interval.
const eventsMax = 300_000

// trainings returns how many trainings are simulated with an interval: as many as was asked for, or at least
// 4 if they have very many failures and checkpoints.
func (d *failingReport) trainings(every unit.Tick) int {
	p := d.plan
	events := 1.0
	if every > 0 {
		events += p.Length.Seconds() / every.Seconds()
	}
	for i := range p.Kinds {
		events += float64(p.Kinds[i].Count) * p.Length.Seconds() / p.Kinds[i].Between.Seconds()
	}
	return min(d.request.failures.trainings, max(4, int(eventsMax/events)))
}

// simulate looks for the best interval, and estimates what failures cost with the one that is used.
func (d *failingReport) simulate() (err error) {
	q, p := d.request, d.plan
	if !q.failures.by(byNothing) {
		if p.Every, err = q.failures.interval(d); err != nil {
			return err
		}
		middle := max(min(goodput.Young(p.Pause, p.Between()), p.Length), p.Pause, p.Write)
		d.points, d.best = goodput.Best(p, q.seed, d.trainings(middle))
		chosen := *p
		chosen.Auto = true
		d.auto = goodput.Simulations(&chosen, q.seed, d.trainings(middle)).Share
		if p.Every == 0 {
			p.Every = d.points[d.best].Every
		}
	}
	d.estimate = goodput.Simulations(p, q.seed, d.trainings(p.Every))
	return d.setPays()
}

// priceAt returns the dollars an hour where a share is paid for GPUs and their servers; nil if not known.
func (d *failingReport) priceAt(share float64) *float64 {
	j := *d.job
	j.Hardware = d.job.Hardware.Clone()
	j.Hardware.PayShare(share)
	price, _ := d.request.dollarsPerHour(&j)
	return price
}

// setPays finds the share of the price of GPUs and their servers at which a sample costs as much as on
// machines that nothing takes away, with the best interval of those.
func (d *failingReport) setPays() (err error) {
	q := d.request
	if q.failures.preempted == 0 || d.onDemand == nil || q.dollars > 0 {
		return nil
	}
	steady := *d.plan
	if steady.Kinds, err = q.kinds(d.job, 0); err != nil {
		return err
	}
	share := 0.0
	if q.failures.by(byNothing) {
		share = goodput.Simulations(&steady, q.seed, d.trainings(0)).Share
	} else {
		points, best := goodput.Best(&steady, q.seed, d.trainings(d.plan.Every))
		share = points[best].Share
	}
	others := d.priceAt(0) // of hosts without GPUs
	if share == 0 || *d.onDemand == *others {
		return nil
	}
	worth := *d.onDemand * d.estimate.Share / share
	pays := max(0, (worth-*others)/(*d.onDemand-*others))
	d.pays = &pays
	return nil
}

// rates returns the useful samples a second of trainings: of all, and the 1st and 99th percentile over
// trainings and what is not known of the speed.
func (d *failingReport) rates() (mean, low, high float64) {
	mean = d.Mid.Throughput * d.estimate.Share
	var all []float64
	for i, share := range d.estimate.Shares {
		speed := d.Mid.Throughput
		if n := len(d.Samples); n > 0 {
			speed = d.Samples[i%n]
		}
		all = append(all, speed*share)
	}
	span := predict.Percentiles(all)
	if span == nil {
		return mean, mean, mean
	}
	return mean, min(mean, span.Low), max(mean, span.High)
}

// span writes a time with up to three digits, as 30s, 13.1h or 50000h.
func span(t unit.Tick) string {
	for _, u := range []struct {
		name string
		size unit.Tick
		most float64
	}{{"ms", unit.Millisecond, 1000}, {"s", unit.Second, 100}, {"min", unit.Minute, 100}} {
		if x := t.Seconds() / u.size.Seconds(); x < u.most {
			return short(x) + u.name
		}
	}
	if t == unit.Forever {
		return "never"
	}
	return short(t.Seconds()/unit.Hour.Seconds()) + "h"
}

// short writes a number with up to three digits, or more before the point.
func short(x float64) string {
	text := digits(x)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// part writes a share of the time in percent: with two digits if it is small.
func part(share float64) string {
	switch x := 100 * share; {
	case x > 0 && x < 0.001:
		return "< 0.001 %"
	case x >= 0.001 && x < 0.095:
		return fmt.Sprintf("%.2g %%", x)
	case x > 99.9 && x < 100:
		return fmt.Sprintf("%.4g %%", x)
	default:
		return fmt.Sprintf("%.1f %%", x)
	}
}

// writeText writes the report for a reader.
func (d *failingReport) writeText(w io.Writer) error {
	q, e := d.request, &d.estimate
	cli.Paragraph(w, fmt.Sprintf("%s, %s on %s: %s.", d.job.Name, q.modes[0], q.units(d.job.Roles.Ranks),
		q.where()), "  ")
	fmt.Fprintln(w)
	line := labelled(w, 12)
	mean, low, high := d.rates()
	line("ideal", "%s samples/s, if nothing fails and nothing is saved", rate(d.Mid.Throughput))
	least, most := goodput.Range(e.Shares)
	line("goodput", "%s samples/s, %s of it; %s to %s a training", rate(mean), part(e.Share),
		part(least), part(most))
	if len(d.Samples) > 0 {
		line("", "%s to %s, with what is not known of the speed", rate(low), rate(high))
	}
	d.writeCost(w, line)
	d.writeCheckpoint(line)
	d.writeLost(w)
	d.writeFailures(w)
	d.writeIntervals(w)
	d.writeAssumptions(w)
	_, err := fmt.Fprintf(w, "\nTo repeat: %s\n", q.command)
	return err
}

// writeCost writes what samples cost, and when machines that are taken away pay.
func (d *failingReport) writeCost(w io.Writer, line func(name, format string, args ...any)) {
	if d.price == nil {
		writeUnpriced(w, "cost         ", d.noPrice)
		return
	}
	if d.estimate.Share == 0 {
		line("cost", "$ %s an hour, for nothing", digits(*d.price))
		return
	}
	giga := func(hour float64) float64 { return hour / 3600 / d.Mid.Throughput * 1e9 }
	text := fmt.Sprintf("$ %s for 10⁹ samples", digits(giga(*d.price)/d.estimate.Share))
	if d.request.failures.spot < 1 {
		text += fmt.Sprintf(", at %s of the price of GPUs and their servers", part(d.request.failures.spot))
	}
	prices := " on demand"
	if d.request.dollars > 0 {
		prices = ""
	}
	line("cost", "%s; $ %s%s if nothing fails", text, digits(giga(*d.onDemand)), prices)
	switch {
	case d.pays == nil:
	case *d.pays == 0:
		line("", "machines that are taken away so often are worth it at no price")
	default:
		line("", "machines that are taken away so often are worth it below %s of the price on demand",
			part(*d.pays))
	}
}

// writeCheckpoint writes how large a checkpoint is, and how long training stands still for it.
func (d *failingReport) writeCheckpoint(line func(name, format string, args ...any)) {
	p := d.plan
	if p.Every == 0 {
		line("checkpoints", "none: a death ends the run, and it is trained from the beginning")
		return
	}
	how := "given"
	if d.request.failures.every.Auto {
		how = "the best"
	}
	line("checkpoints", "every %s (%s)", span(p.Every), how)
	line("", "a pause of %s, %s to write beside training, %s to read", span(p.Pause), span(p.Write),
		span(p.Read))
	if s := d.size; s != nil {
		line("", "%v on %s, up to %v on one", s.Whole, counted(s.Hosts, "host"), s.Part)
	}
}

// counted writes a number of things, as "1 host".
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// writeLost writes where the lost time goes.
func (d *failingReport) writeLost(w io.Writer) {
	e := &d.estimate
	fmt.Fprintf(w, "\nLost, %s of the time:\n", part(1-e.Share))
	for c, share := range e.Lost {
		fmt.Fprintf(w, "  %-17s %9s\n", goodput.Cause(c), part(share))
	}
	if e.GivenUp > 0 {
		remedy := "Fewer or more reliable machines, or shorter restarts, would help."
		if x := d.request.failures; x.by(byNothing) {
			remedy = "Checkpoints would help: --recover checkpoint."
		} else if between := d.plan.Between(); d.plan.Read > between && d.size != nil {
			remedy = fmt.Sprintf("It takes %s to read a checkpoint, and something fails every %s: faster "+
				"disks (--disk), more hosts or fewer failures would help, and no policy.",
				span(d.plan.Read), span(between))
		} else if !x.by(byLog) && !d.request.graph() {
			remedy = "Fewer or more reliable machines, shorter restarts, or --recover log would help."
		}
		cli.Paragraph(w, fmt.Sprintf("%d of %s did not end: failures come faster than training recovers. "+
			"The part that they saved counts as useful. %s", e.GivenUp, counted(e.Runs, "training"),
			remedy), "")
	} else if e.Repeats > train.DefaultRestartsMax && d.plan.Every > 0 {
		cli.Paragraph(w, fmt.Sprintf("Training began again up to %d times with one checkpoint: cmd/train "+
			"needs --restarts %d.", e.Repeats, e.Repeats), "")
	}
}

// writeFailures writes what fails, and what follows.
func (d *failingReport) writeFailures(w io.Writer) {
	p := d.plan
	if len(p.Kinds) == 0 {
		fmt.Fprintln(w, "\nNothing fails.")
		return
	}
	fmt.Fprintf(w, "\n%-25s %6s %9s %9s  %s\n", "Mean time between failures", "number", "of one", "of all",
		"what follows")
	for i := range p.Kinds {
		k := &p.Kinds[i]
		follows := k.Consequence.String()
		if p.Every == 0 && k.Consequence == goodput.GoesBack {
			follows = "all start over"
		}
		fmt.Fprintf(w, "  %-24s %6d %9s %9s  %s\n", k.Name, k.Count, span(k.Between),
			span(k.Between/unit.Tick(k.Count)), follows)
	}
}

// flat is the part of the time around the best interval within which others count as good.
const flat = 0.01

// writeIntervals writes how the useful time depends on the interval, and what formulas say.
func (d *failingReport) writeIntervals(w io.Writer) {
	p := d.plan
	if len(d.points) == 0 {
		return
	}
	best := d.points[d.best]
	every, lost := fmt.Sprintf("\n%-16s", "Checkpoint every"), fmt.Sprintf("%-16s", "Lost")
	for i := d.best % goodput.PerOctave; i < len(d.points); i += goodput.PerOctave {
		if far := i - d.best; max(far, -far) <= 3*goodput.PerOctave {
			every += fmt.Sprintf(" %8s", span(d.points[i].Every))
			lost += fmt.Sprintf(" %8s", part(1-d.points[i].Share))
		}
	}
	fmt.Fprintln(w, every+"\n"+lost)
	least, most := goodput.Within(d.points, d.best, flat)
	cli.Paragraph(w, fmt.Sprintf("Best: every %s, %s lost. Of the intervals tried, those from %s to %s "+
		"lose at most 1 %% of the time more.", span(best.Every), part(1-best.Share), span(least),
		span(most)), "")
	fmt.Fprintf(w, "By train --checkpoint-every auto, which has to see failures first, %s lost.\n",
		part(1-d.auto))
	between := p.Between()
	if between == unit.Forever || p.Pause == 0 {
		return
	}
	young, daly := goodput.Young(p.Pause, between), goodput.Daly(p.Pause, between)
	cli.Paragraph(w, fmt.Sprintf("By Young's formula every %s, %s lost; by Daly's every %s, %s.", span(young),
		part(1-d.shareAt(young)), span(daly), part(1-d.shareAt(daly))), "")
}

// shareAt returns the useful part of the time with an interval.
func (d *failingReport) shareAt(every unit.Tick) float64 {
	p := *d.plan
	p.Every = max(every, goodput.Shortest(p.Length))
	return goodput.Simulations(&p, d.request.seed, d.trainings(p.Every)).Share
}

// writeAssumptions writes what the times rest on.
func (d *failingReport) writeAssumptions(w io.Writer) {
	x, p := &d.request.failures, d.plan
	list := []string{fmt.Sprintf("--notice %v", x.notice), fmt.Sprintf("--restart %v", x.restart),
		fmt.Sprintf("--provision %v", x.provision)}
	if d.size != nil {
		list = append(list, fmt.Sprintf("--disk %v/s a host", unit.Bytes(x.disk)))
	}
	if x.by(byLog) {
		list = append(list, fmt.Sprintf("--replay %s of the time of training", digits(p.Replay)))
	}
	fmt.Fprintln(w)
	cli.Paragraph(w, fmt.Sprintf("Assumed: %s; %s of --length %v, with failures at random (--seed %d).",
		strings.Join(list, ", "), counted(d.estimate.Runs, "training"), x.length, d.request.seed), "")
	if !d.given("mtbf") {
		cli.Paragraph(w, "--mtbf is that of Llama 3's training: 419 unexpected interruptions in 54 days on "+
			"16,384 GPUs.", "")
	}
}
