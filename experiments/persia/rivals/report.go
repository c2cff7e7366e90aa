package rivals

import (
	"fmt"
	"math"

	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// draw returns the report of results.
func draw(p *paper.Plan, r *results) *report.Report {
	return &report.Report{
		Quantities: quantities(r), Findings: findings(r),
		Notes:   append(p.Report(&r.Results).Notes, notes()...),
		Tables:  []cli.Table{leadTable(r.Leads), transferTable(r.Transfers)},
		Figures: []report.Figure{leadFigure(r.Leads, 8), leadFigure(r.Leads, 1)},
	}
}

// quantities are the factors of all leads, and the leads on 8 GPUs as they follow from those on 1.
func quantities(r *results) (list []report.Quantity) {
	for i := range r.Leads {
		l := &r.Leads[i]
		end := fmt.Sprintf("%s-%s-%d", report.Slug(l.Rival), report.Slug(l.Data), l.GPUs)
		lead := fmt.Sprintf("of Persia ÷ %s on %s, %s, ×", l.Rival, l.Data, paper.GPUCount(l.GPUs))
		list = append(list,
			paper.Quantity("algorithm-factor-"+end, "factor of the algorithm "+lead, l.Algorithm),
			paper.Quantity("implementation-factor-"+end, "factor of the implementation "+lead,
				l.Implementation))
	}
	for i := range r.Transfers {
		t := &r.Transfers[i]
		list = append(list, paper.Quantity(
			fmt.Sprintf("persia-over-%s-%s-8", report.Slug(t.Rival), report.Slug(t.Data)),
			fmt.Sprintf("Persia ÷ %s on %s, 8 GPUs, from the ratio on 1 GPU and the algorithm, ×", t.Rival,
				t.Data), t.Predicted))
	}
	return list
}

// text returns a factor with its interval.
func text(v metric.Interval) string { return report.Three(v.Estimate) + " (" + report.Range(v) + ")" }

// leadTable has the factors of every lead.
func leadTable(leads []lead) cli.Table {
	t := cli.Table{
		Caption: "Leads of Persia (×) = algorithm × implementation",
		Header:  []string{"lead", "GPUs", "paper", "algorithm", "implementation"}, Words: 1,
	}
	for i := range leads {
		l := &leads[i]
		t.Add(l.Data+", "+l.Rival, fmt.Sprint(l.GPUs), report.Three(l.Published.Value), text(l.Algorithm),
			text(l.Implementation))
	}
	return t
}

// transferTable has the leads on 8 GPUs beside what follows from 1 GPU.
func transferTable(transfers []transfer) cli.Table {
	t := cli.Table{
		Caption: "Leads on 8 GPUs (×), from those on 1 GPU and the algorithm (null: no change)",
		Header:  []string{"lead", "paper", "predicted", "null", "verdict"}, Words: 1,
	}
	for i := range transfers {
		x := &transfers[i]
		t.Add(x.Data+", "+x.Rival, report.Three(x.Published.Value), text(x.Predicted),
			report.Three(x.Null), string(x.Verdict))
	}
	return t
}

// leadFigure has three bars for each lead on a number of GPUs: the lead and its factors.
func leadFigure(leads []lead, gpus int) report.Figure {
	f := report.Figure{Name: fmt.Sprintf("leads-%d", gpus),
		Title: fmt.Sprintf("Leads of Persia on %s = algorithm × implementation", paper.GPUCount(gpus)),
		X:     report.Axis{Label: "factor (thin line: interval over unknown inputs and reading)"}}
	for i := range leads {
		l := &leads[i]
		if l.GPUs != gpus {
			continue
		}
		names := []string{l.Data + ", " + l.Rival + ": paper", "algorithm", "implementation"}
		p := &l.Published
		for k, v := range []metric.Interval{
			{Estimate: p.Value, Low: p.Low, High: p.High}, l.Algorithm, l.Implementation,
		} {
			f.Bars = append(f.Bars, report.Bar{Name: names[k], Color: k, Value: v.Estimate, Low: v.Low,
				High: v.High})
		}
	}
	return f
}

// printedLead is the rival and data set of the lead that the paper's abstract has: 7.12 ×, which its bars
// have as 7.07.
const (
	printedLead  = 7.12
	printedData  = "Taobao"
	printedRival = "XDL async"
)

// findings says which factor is larger, what the printed lead consists of, and what transfers to 8 GPUs.
func findings(r *results) (sentences []string) {
	var inputs []string
	for i := range r.Leads {
		l := &r.Leads[i]
		if l.Input != "" {
			inputs = append(inputs, l.Input)
		}
		if l.GPUs == 8 && l.Data == printedData && l.Rival == printedRival {
			sentences = append(sentences, fmt.Sprintf("Of the printed %g × over %s on %s (%s in the bars), "+
				"the algorithm gives %s × (%s) and the implementation %s × (%s).", printedLead, l.Rival,
				l.Data, report.Three(l.Published.Value), report.Three(l.Algorithm.Estimate),
				report.Range(l.Algorithm), report.Three(l.Implementation.Estimate),
				report.Range(l.Implementation)))
		}
	}
	sentences = append(sentences, largerFinding(r.Leads, 8), largerFinding(r.Leads, 1))
	verdicts, nearer := map[paper.Verdict]int{}, 0
	for i := range r.Transfers {
		t := &r.Transfers[i]
		verdicts[t.Verdict]++
		off := func(v float64) float64 { return math.Abs(math.Log(v / t.Published.Value)) }
		if off(t.Predicted.Estimate) < off(t.Null) {
			nearer++
		}
	}
	sentences = append(sentences, fmt.Sprintf("From 1 to 8 GPUs with the same implementation: of %d leads, "+
		"%d inside, %d outside, %d not identifiable. Nearer to the prediction than to no change: %d.",
		len(r.Transfers), verdicts[paper.Inside], verdicts[paper.Outside], verdicts[paper.NotIdentifiable],
		nearer))
	if inputs != nil {
		sentences = append(sentences, "The input that explains most of the algorithm's interval: "+
			paper.Counted(inputs)+".")
	}
	return sentences
}

// largerFinding counts the leads of which one factor is larger at every value of the unknown inputs.
func largerFinding(leads []lead, gpus int) string {
	all, implementation, algorithm, least, most := 0, 0, 0, math.Inf(1), math.Inf(-1)
	for i := range leads {
		l := &leads[i]
		if l.GPUs != gpus {
			continue
		}
		all++
		if l.Implementation.Low > l.Algorithm.High {
			implementation++
		}
		if l.Algorithm.Low > l.Implementation.High {
			algorithm++
		}
		least, most = min(least, l.share()), max(most, l.share())
	}
	percent := func(share float64) string { return report.Minus(fmt.Sprintf("%.0f", 100*share)) }
	return fmt.Sprintf("On %s, the implementation is the larger factor at every value of the unknown inputs "+
		"in %d of %d leads, the algorithm in %d. At the middle, the algorithm gives %s to %s %% of a lead's "+
		"logarithm.", paper.GPUCount(gpus), implementation, all, algorithm, percent(least), percent(most))
}

// notes returns what a reader needs to judge this experiment.
func notes() []string {
	return []string{
		"The implementation is all that the simulated modes do not explain: system software, what the " +
			"paper did to run a rival, and errors of the simulator.",
		"Both sides of an algorithm's factor have Persia's system software, cluster and model, so what " +
			"they share cancels point by point. Sync reduces dense gradients over the GPUs here; " +
			"XDL uses PSs.",
		"PaddlePaddle: dense gradients reduced as in hybrid at the middle; the interval also spans dense " +
			"parameters on PSs (async-ps).",
		"The leads on 8 GPUs take the published leads on 1 GPU, of the same figure, as an input.",
		"The bars of the paper's figure label the modes of XDL; its text seems to swap them.",
	}
}
