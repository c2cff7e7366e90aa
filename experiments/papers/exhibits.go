package papers

import (
	"fmt"
	"strings"

	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// spec is what is fixed of an exhibit.
type spec struct {
	name, title, theirs string
	claims              []string // ids
	make                func(m *maker, e *Exhibit) error
}

// specs returns all exhibits in the order of the page.
func specs() []spec {
	return append(persia(), neo()...)
}

// digitised is where the values of most figures are from.
const digitised = "The diamonds were read off the pixels of the figure in Persia's tutorials."

func persia() []spec {
	return []spec{
		{"throughput", "Persia: throughput of four systems",
			"The paper's figure of scalability: three data sets on 1 to 8 V100s. " + digitised,
			[]string{"scaling-1-to-8-criteo", "over-xdl-sync", "over-xdl-async", "over-paddle"}, throughput},
		{"no-communication", "Persia: what dense communication costs",
			"The dashed boxes of the same figure: one GPU without dense communication.",
			[]string{"no-communication-criteo"}, noCommunication},
		{"kwai", "Persia: Kwai-Video on 1 to 64 GPUs",
			"The paper's figure of its production model. " + digitised + " Its axis is linear; ours is " +
				"logarithmic, so that equal ratios have equal lengths.",
			[]string{"kwai-hybrid-over-sync", "kwai-hybrid-over-sync-64", "kwai-async-over-hybrid-64",
				"kwai-scaling-8-to-64"}, kwai},
		{"capacity", "Persia: 6.25 to 100 trillion parameters",
			"The paper's figure of capacity, on Google's cloud. " + digitised,
			[]string{"capacity-hybrid-over-sync", "capacity-async-over-hybrid", "capacity-flat",
				"capacity-throughput"}, capacity},
		{"auc-by-samples", "Persia: AUC against samples",
			"The paper's figure of convergence on Criteo, 8 GPUs. Of its curves, the last points were read " +
				"(digitised ±0.0005).",
			[]string{"hybrid-auc-criteo", "thesis-rows-may-be-late"}, aucOnCriteo},
		{"auc-on-avazu", "Persia: AUC against samples on Avazu",
			"The same figure's curves on Avazu, of which the last points were read.",
			[]string{"hybrid-auc-avazu"}, aucOnAvazu},
		{"auc-by-time", "Persia: AUC against wall time",
			"The paper's figure of end-to-end training. Its points could not be had: only \"up to 7.12 ×\" " +
				"is printed.", []string{"time-to-auc"}, aucByTime},
		{"auc-table", "Persia: AUC of every system and data set",
			"The paper's tables of AUC could not be had. These are the last points of its curves " +
				"(digitised ±0.0005), and what its text says.",
			[]string{"hybrid-auc-taobao", "async-auc", "kwai-auc", "adult-income-auc"},
			aucTable},
		{"gantt", "Persia: the Gantt chart of four schedules",
			"The paper's chart has no numbers: what overlaps is compared.", nil, gantt},
		{"models", "Persia: data sets and models",
			"The paper's table 1, quoted from a transcription.", []string{"persia-640"}, models},
	}
}

func neo() []spec {
	return []spec{
		{"neo-cpus", "Neo: beside CPUs with parameter servers",
			"The abstract has 40 × in time to solution; a throughput is quoted by a secondary source. The " +
				"system of CPUs is not described.",
			[]string{"neo-over-cpu-ps", "neo-model-f"}, neoThroughput},
		{"neo-ablation", "Neo: of what its lead consists",
			"The paper's ablation could not be had. This divides the 40 × by one change after the other.",
			nil, neoFactors},
		{"neo-scaling", "Neo: scaling to 128 GPUs, and its models",
			"The paper's curves of scaling could not be had.", nil, neoModels},
	}
}

func throughput(m *maker, e *Exhibit) error {
	if err := m.draw(e, "scalability", "bars"); err != nil {
		return err
	}
	var r paper.Results
	if err := m.data("scalability", &r); err != nil {
		return err
	}
	count := map[paper.Verdict]int{}
	t := cli.Table{Words: 2, Header: []string{"data set", "system"},
		Caption: "Thousand samples/s: the paper / our middle (interval); * outside, ~ too wide to say, = " +
			"input"}
	for _, n := range paper.ScalingGPUs() {
		t.Header = append(t.Header, paper.GPUCount(n))
	}
	for _, d := range paper.ScalingFigure() {
		for i, system := range paper.Systems() {
			row := []string{d.Name, system}
			for _, n := range paper.ScalingGPUs() {
				c := r.Comparison(fmt.Sprintf("throughput-%s-%s-%d", report.Slug(system), d.Model, n))
				theirs := fmt.Sprintf("%.1f", d.Bar(i, n))
				if c.Name == "" {
					row = append(row, theirs+" / –")
					continue
				}
				count[c.Verdict]++
				row = append(row, fmt.Sprintf("%s / %s (%s)%s", theirs, report.Three(c.Middle),
					report.Range(interval(c)), mark(c.Verdict)))
			}
			t.Add(row...)
		}
	}
	e.Tables = append(e.Tables, t)
	all := 0
	for _, n := range count {
		all += n
	}
	e.Says = fmt.Sprintf("Of %d bars, %d lie inside our intervals, %d outside, %d in intervals that span "+
		"more than a factor %g; the other %d are inputs.", all, count[paper.Inside], count[paper.Outside],
		count[paper.NotIdentifiable], paper.WidthMost,
		all-count[paper.Inside]-count[paper.Outside]-count[paper.NotIdentifiable])
	e.Notes = append(e.Notes, "Nothing of Persia is from the figure. The price lists of XDL and "+
		"PaddlePaddle are inferred from their bars on one GPU and Criteo, which are inputs.")
	return nil
}

// mark is that of a verdict in a cell.
func mark(v paper.Verdict) string {
	return map[paper.Verdict]string{paper.Outside: " *", paper.NotIdentifiable: " ~", paper.IsInput: " =",
		paper.NoInterval: " ="}[v]
}

func noCommunication(m *maker, e *Exhibit) error {
	if err := m.draw(e, "scalability", "share"); err != nil {
		return err
	}
	single, err := m.quantity("scalability", "share-of-no-communication-criteo-8")
	if err != nil {
		return err
	}
	half, err := m.quantity("scalability", "share-of-no-communication-criteo-8-half")
	if err != nil {
		return err
	}
	e.Says = fmt.Sprintf("On Criteo, each of 8 GPUs has %s of the throughput of one without dense "+
		"communication (%s) with matrix products in fp32, in the paper 0.30. With half precision it has %s "+
		"(%s).", report.Three(single.Estimate), report.Range(single.Interval), report.Three(half.Estimate),
		report.Range(half.Interval))
	return nil
}

// say sets the sentence of an exhibit to the finding of an experiment that begins with some words.
func (m *maker) say(e *Exhibit, experiment, begin string) error {
	r, err := m.redraw(experiment)
	if err != nil {
		return err
	}
	for _, finding := range r.Findings {
		if strings.HasPrefix(finding, begin) {
			e.Says = finding
			return nil
		}
	}
	return fmt.Errorf("%s has no finding that begins with %q", experiment, begin)
}

func kwai(m *maker, e *Exhibit) error {
	if err := m.draw(e, "kwai", "throughput"); err != nil {
		return err
	}
	var parts []any
	for _, name := range []string{"scaling-hybrid-kwai-64", "hybrid-over-sync-kwai-64",
		"async-average-over-hybrid-kwai-64"} {
		q, err := m.quantity("kwai", name)
		if err != nil {
			return err
		}
		parts = append(parts, report.Three(q.Estimate), report.Range(q.Interval))
	}
	e.Says = fmt.Sprintf("From 8 to 64 GPUs hybrid gains %s × (%s), in the paper 3.94. At 64 GPUs it is %s "+
		"× as fast as sync (%s), in the paper 2.57. Async is %s × as fast as hybrid (%s), in the paper "+
		"1.46.", parts...)
	e.Notes = append(e.Notes, "The axis of the figure has no unit; thousand samples/s are assumed. Slots, "+
		"layers and ids of the model are not published: the bands span networks of 34 M parameters of every "+
		"shape.", "Replicas that async averages in the background wait for nothing in the simulator.")
	return nil
}

func capacity(m *maker, e *Exhibit) error {
	if err := m.draw(e, "capacity", "bars"); err != nil {
		return err
	}
	hybrid, err := m.quantity("capacity", "throughput-100t")
	if err != nil {
		return err
	}
	flat, err := m.quantity("capacity", "largest-over-smallest-6t-100t")
	if err != nil {
		return err
	}
	e.Says = fmt.Sprintf("100 trillion parameters train at %s million samples/s (%s; paper 1.91), and size "+
		"changes throughput by a factor %s at most.", report.Three(hybrid.Estimate),
		report.Range(hybrid.Interval), report.Three(flat.High))
	if from := m.found["capacity"]; from.Quick() {
		e.Notes = append(e.Notes, "Missing: 12.5 to 50 T, which the quick run does not simulate.")
	}
	return nil
}

func gantt(m *maker, e *Exhibit) error {
	if err := m.draw(e, "gantt", "schedules"); err != nil {
		return err
	}
	if err := m.say(e, "gantt", "In all"); err != nil {
		return err
	}
	e.Notes = append(e.Notes, "Simulated: rank 0 of 8 V100s on Criteo. No claim has a number here, so "+
		"there is no verdict but the order of stages, which the run checks.")
	return nil
}

func neoThroughput(m *maker, e *Exhibit) error {
	if err := m.draw(e, "neo", "throughput"); err != nil {
		return err
	}
	lead, err := m.quantity("neo", "neo-over-cpu-ps")
	if err != nil {
		return err
	}
	rate, err := m.quantity("neo", "throughput-neo-12t-128")
	if err != nil {
		return err
	}
	e.Says = fmt.Sprintf("Neo is %s × as fast as the CPUs (%s), published are up to 40. It trains %s "+
		"million samples/s (%s), quoted are 1.7.", report.Three(lead.Estimate), report.Range(lead.Interval),
		report.Three(rate.Estimate), report.Range(rate.Interval))
	e.Notes = append(e.Notes, "Time to solution is taken as throughput. The number of CPU trainers is "+
		"unknown, so three are drawn.")
	return nil
}

func neoFactors(m *maker, e *Exhibit) error {
	if err := m.draw(e, "neo", "factors"); err != nil {
		return err
	}
	return m.say(e, "neo", "Neo's lead")
}
