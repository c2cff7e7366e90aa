package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tandem/internal/cli"
	"tandem/sim/cost"
	"tandem/sim/predict"
)

const compareUsage = `Compare configurations: which is faster, which is cheaper, and how sure is that?

A configuration is a cluster, a file with a cluster or a job, and flags of sim
run, all in one word of the shell, as 'dgx-h100 --gpus 4'. Flags outside belong
to every configuration that does not have them itself.

All are simulated at the same points of what is not known: a parameter that two
of them share is as good, or as bad, in both, so that it cancels. The table has
the throughput, the price of 10⁹ samples and what binds. Below, each is divided
by the first: the median of the ratios and their 1st to 99th percentile, at how
many points it is faster, and cheaper, and which parameters decide that: those
that explain more of the ratios than chance would, with their share.

Prices are those of the profiles, with their ranges. --json prints one object,
and --report FILE.html has figures of throughput, price and ratios.
` + common

const compareExamples = `  go run ./cmd/sim compare 'dgx-a100 --gpus 8' 'dgx-h100 --gpus 4' \
      --model mlperf-dcnv2 --global-batch 65536
  go run ./cmd/sim compare 'persia-gcp' 'persia-gcp --network 400Gbps' \
      'persia-gcp --mode sync'
  go run ./cmd/sim compare cmd/train/jobs/frappe.yaml \
      'cmd/train/jobs/frappe.yaml --gpus 16'`

// sidesCompared is what is known of several configurations, the first of which the others are divided by.
type sidesCompared struct {
	sides   []*variant
	samples int
	command string
	start   time.Time
}

// variant is a configuration with its prediction.
type variant struct {
	*side
	job *predict.Job
	*predict.Prediction
	dollars float64   // an hour, at the middle of every range
	prices  []float64 // of 10⁹ samples at the sampled points; nil if a price is not known
	noPrice string    // what has none

	// Against the first, of which they are nil.
	faster, price         *predict.Paired
	decides, priceDecides []predict.Effect
}

// sidesMax bounds the configurations of a comparison, which letters name.
const sidesMax = 26

func (p *program) compareCommand() *cobra.Command {
	f := &flags{kind: comparing}
	c := &cobra.Command{
		Use: "compare A B [C…]", Short: "Compare configurations, and say how sure the answer is",
		Long: compareUsage, Example: compareExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 || len(args) > sidesMax {
				return cli.UsageError("write each in one word of the shell: 'dgx-a100 --gpus 8' "+
					"'dgx-h100 --gpus 4'", "compare: %d configurations; want 2 to %d", len(args), sidesMax)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return advise(p.compare(c, args, f))
		},
	}
	f.register(c.Flags())
	return c
}

// compare predicts all configurations and writes the comparison.
func (p *program) compare(c *cobra.Command, args []string, f *flags) error {
	if err := checkNewFile("--report", f.page); err != nil {
		return err
	}
	x := &sidesCompared{start: time.Now(),
		command: strings.Replace(commandLine(c), " compare", " compare "+quoted(args), 1)}
	once := *p
	once.probe = sync.OnceValues(p.probe) // this machine is the same on every side
	var sides []*side
	for i, text := range args {
		s, err := once.newSide(c, comparing, string(rune('A'+i)), strings.Fields(text))
		if err != nil {
			return err
		}
		sides = append(sides, s)
		x.sides = append(x.sides, &variant{side: s, job: s.question(s.modes[0], s.gpus[0])})
	}
	progress := cli.NewProgress(p.stderr, p.terminal)
	defer progress.Close()
	if err := x.predict(progress); err != nil {
		return err
	}
	progress.Close()
	cli.PrintNotes(p.stderr, "sim", append(notesOf(sides), x.modelNote()...))
	if err := writeAnswer(f.page, x); err != nil {
		return err
	}
	if f.json {
		return printJSON(p.stdout, x.document())
	}
	return x.writeText(p.stdout)
}

// modelNote warns of clusters whose profiles bring different models: their speeds are of different trainings.
func (x *sidesCompared) modelNote() []string {
	var names, trained []string
	for _, s := range x.sides {
		if s.model != "" || s.file != "" {
			return nil // the user has chosen
		}
		names = append(names, fmt.Sprintf("%s trains %s", s.name, s.job.Name))
		trained = append(trained, s.job.Name)
	}
	if slices.Sort(trained); len(slices.Compact(trained)) == 1 {
		return nil
	}
	return []string{strings.Join(names, ", ") + ": these are the models of the clusters' profiles; --model " +
		"NAME compares them with one"}
}

// quoted writes words for a shell.
func quoted(words []string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = quote(word)
	}
	return strings.Join(all, " ")
}

// predict predicts all sides at the same points.
func (x *sidesCompared) predict(progress *cli.Progress) error {
	ctx := context.Background()
	var events int64
	for _, s := range x.sides {
		n, err := simulatedEvents(ctx, s.job, s.predictions())
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		events += n
	}
	if x.samples = x.sides[0].samples; x.samples == 0 {
		x.samples = pairedPoints(pairedEvents, events)
	}
	for _, s := range x.sides {
		o := s.predictions()
		o.Samples = x.samples
		o.Done = func(done, all int) { progress.Show(done, all, s.name) }
		var err error
		if s.Prediction, err = predict.Run(ctx, s.job, o); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.setPrices(x.samples)
	}
	first := x.sides[0]
	for _, s := range x.sides[1:] {
		names := [2]string{s.name, first.name}
		if s.faster = predict.Pair(s.Samples, first.Samples); s.faster != nil {
			s.decides = predict.Deciders(s.job, first.job, names, s.faster.Points)
		}
		if s.prices == nil || first.prices == nil {
			continue
		}
		if s.price = predict.Pair(s.prices, first.prices); s.price != nil {
			s.priceDecides = predict.Deciders(s.job, first.job, names, s.price.Points)
		}
	}
	return nil
}

// setPrices sets what the hardware costs an hour, and 10⁹ samples at every point.
func (s *variant) setPrices(samples int) {
	var hours []float64
	if s.request.dollars > 0 {
		s.dollars = s.request.dollars * float64(s.job.Roles.Ranks)
	} else if s.dollars, hours, s.noPrice = s.job.DollarsPerHour(samples); s.noPrice != "" {
		return
	}
	for k, rate := range s.Samples {
		hour := s.dollars
		if hours != nil {
			hour = hours[k]
		}
		s.prices = append(s.prices, hour/3600/rate*1e9)
	}
}

// writeText writes the comparison for a reader.
func (x *sidesCompared) writeText(w io.Writer) error {
	for _, s := range x.sides {
		fmt.Fprintln(w, s.name+"  "+cli.WrapAt(s.title(), "   ", 3, cli.TextColumns(w)))
	}
	fmt.Fprintf(w, "\n%3s %9s  %-18s %9s  %s\n", "", "samples/s", "interval", "$ per 10⁹", "bound by")
	for _, s := range x.sides {
		span, price := "–", "–"
		if s.Interval != nil {
			span = rate(s.Interval.Low) + " to " + rate(s.Interval.High)
		}
		if s.noPrice == "" {
			price = digits(s.dollars / 3600 / s.Mid.Throughput * 1e9)
		}
		bound := prediction{whole: s.Prediction}
		fmt.Fprintf(w, "%-3s %9s  %-18s %9s  %s\n", s.name, rate(s.Mid.Throughput), span, price,
			bound.bound())
	}
	first := x.sides[0]
	for _, s := range x.sides[1:] {
		fmt.Fprintln(w)
		x.writeRatio(w, s, first)
	}
	if x.samples > 1 {
		fmt.Fprintln(w)
		cli.Paragraph(w, fmt.Sprintf("%d points of what is not known, the same for all; intervals are the "+
			"1st to 99th percentile.%s", x.samples, x.pointsNote()), "")
	}
	if text := x.priceNote(); text != "" {
		cli.Paragraph(w, text, "")
	}
	fmt.Fprintln(w)
	for _, s := range x.sides {
		fmt.Fprintf(w, "%s in detail: %s\n", s.name, s.command)
	}
	_, err := fmt.Fprintf(w, "To repeat: %s\n", x.command)
	return err
}

// pointsNote says, if there are few points, how to have more.
func (x *sidesCompared) pointsNote() string {
	if x.samples >= pairedMost {
		return ""
	}
	return fmt.Sprintf(" More, by --samples %d, find more that decides.", predict.SamplesDefault)
}

// inTitle are the flags whose values the title of a configuration has anyway.
var inTitle = []string{"preset", "cluster", "file", "model", "mode", "modes", "gpus", "accelerator", "inside",
	"network", "system", "batch-per-gpu", "global-batch"}

// title describes a configuration.
func (s *variant) title() string {
	q := s.request
	text := fmt.Sprintf("%s, %s on %s: %s; %d samples a step", s.job.Name, q.modes[0],
		q.units(s.job.Roles.Ranks), q.where(), s.job.Training.GlobalBatch)
	for _, name := range slices.Sorted(maps.Keys(s.own)) {
		if !slices.Contains(inTitle, name) {
			text += fmt.Sprintf("; --%s %s", name, s.own[name])
		}
	}
	return text + "."
}

// hasNoPrice reports whether a flag or parameter changes hardware and no price.
func hasNoPrice(name string) bool {
	if strings.HasSuffix(name, cost.PriceSetting) || strings.HasSuffix(name, ".count") {
		return false
	}
	part, _, parameter := strings.Cut(name, ".")
	return name == "network" || name == "inside" || parameter && slices.Contains([]string{"accelerator",
		"server", "inside", "network", "host-link"}, part)
}

// unpriced returns the flags and parameters of a configuration that change hardware and no price.
func (s *variant) unpriced() (all []string) {
	for _, setting := range s.set {
		if name, _, _ := strings.Cut(setting, "="); hasNoPrice(name) {
			all = append(all, setting)
		}
	}
	for name, value := range s.own {
		if hasNoPrice(name) {
			all = append(all, name+"="+value)
		}
	}
	slices.Sort(all)
	return all
}

// priceNote says that hardware which differs has one price, so that the better is the cheaper.
func (x *sidesCompared) priceNote() string {
	var names []string
	first := x.sides[0]
	for _, s := range x.sides[1:] {
		if s.noPrice == "" && s.dollars == first.dollars && s.request.dollars == 0 &&
			!slices.Equal(s.unpriced(), first.unpriced()) {
			names = append(names, s.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("An hour of %s costs what one of %s costs: the price of what differs is not known. "+
		"--set server.dollars-per-hour=DOLLARS in a configuration gives it.", strings.Join(names, " and "),
		first.name)
}

// writeRatio writes what one configuration is against the first.
func (x *sidesCompared) writeRatio(w io.Writer, s, first *variant) {
	line := labelled(w, 15)
	pair := s.name + " / " + first.name
	one := func(name string, p *predict.Paired, above float64, better string, decides []predict.Effect) {
		line(name, "%s (%s to %s); %s is %s at %.0f %% of the points", digits(p.Ratio),
			digits(p.Interval.Low), digits(p.Interval.High), s.name, better, 100*above)
		var words []string
		for _, e := range decides {
			words = append(words, fmt.Sprintf("%s %.0f %%", e.Name, 100*e.Share))
		}
		text := "no single parameter, as far as these points show"
		if len(words) > 0 {
			text = strings.Join(words, ", ")
		} else if p.Interval.Low == p.Interval.High {
			text = "nothing that is not known"
		}
		line("  decided by", "%s", text)
	}
	if s.faster == nil {
		line(pair+" speed", "%s; no interval from one point", digits(s.Mid.Throughput/first.Mid.Throughput))
	} else {
		one(pair+" speed", s.faster, s.faster.Above, "faster", s.decides)
	}
	switch missing := cmp.Or(s.noPrice, first.noPrice); {
	case missing != "":
		line(pair+" price", "not known: no price is published of %s; give --set NAME%s=DOLLARS or "+
			"--dollars-per-gpu-hour", missing, cost.PriceSetting)
	case s.price == nil:
		line(pair+" price", "%s", digits(s.dollars/s.Mid.Throughput/(first.dollars/first.Mid.Throughput)))
	default:
		one(pair+" price", s.price, 1-s.price.Above, "cheaper", s.priceDecides)
	}
}

// comparisonDocument is the JSON object of a comparison. Configurations after the first are divided by it.
type comparisonDocument struct {
	Samples     int            `json:"samples"`
	Sides       []sideDocument `json:"configurations"`
	WallSeconds float64        `json:"wall_s"`
	Reproduce   string         `json:"reproduce"`
}

type sideDocument struct {
	Name           string               `json:"name"`
	Job            string               `json:"job"`
	Mode           string               `json:"mode"`
	GPUs           int                  `json:"gpus"`
	GlobalBatch    int                  `json:"global_batch"`
	Throughput     float64              `json:"throughput_samples_per_s"`
	Interval       *[2]float64          `json:"throughput_interval"`
	DollarsPerHour *float64             `json:"cost_usd_per_hour"` // null if a price is not known
	DollarsPerGiga *float64             `json:"cost_usd_per_billion_samples"`
	Bottlenecks    []predict.Bottleneck `json:"bottlenecks"`
	Speed          *ratioDocument       `json:"speed_ratio"` // null of the first, and without samples
	Price          *ratioDocument       `json:"price_ratio"` // of 10⁹ samples
	Notes          []string             `json:"notes"`
	Reproduce      string               `json:"reproduce"`
}

// ratioDocument is a ratio to the first configuration.
type ratioDocument struct {
	Ratio    float64          `json:"ratio"` // median
	Interval [2]float64       `json:"interval"`
	Better   float64          `json:"probability_better"` // faster, or cheaper
	Decides  []predict.Effect `json:"decided_by"`
}

// document returns the comparison as a JSON object.
func (x *sidesCompared) document() *comparisonDocument {
	d := &comparisonDocument{Samples: x.samples, Reproduce: x.command}
	for _, s := range x.sides {
		one := sideDocument{Name: s.name, Job: s.job.Name, Mode: s.modes[0], GPUs: s.job.Roles.Ranks,
			GlobalBatch: s.job.Training.GlobalBatch, Throughput: s.Mid.Throughput, Interval: pair(s.Interval),
			Bottlenecks: s.Mid.Bottlenecks, Notes: append([]string{}, s.side.notes...), Reproduce: s.command}
		if s.noPrice == "" {
			giga := s.dollars / 3600 / s.Mid.Throughput * 1e9
			one.DollarsPerHour, one.DollarsPerGiga = &s.dollars, &giga
		}
		if p := s.faster; p != nil {
			one.Speed = &ratioDocument{p.Ratio, *pair(&p.Interval), p.Above,
				append([]predict.Effect{}, s.decides...)}
		}
		if p := s.price; p != nil {
			one.Price = &ratioDocument{p.Ratio, *pair(&p.Interval), 1 - p.Above,
				append([]predict.Effect{}, s.priceDecides...)}
		}
		d.Sides = append(d.Sides, one)
	}
	d.WallSeconds = time.Since(x.start).Seconds()
	return d
}
