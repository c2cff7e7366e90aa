package ages

import (
	"fmt"

	"tandem/algo/numeric/table"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// kinds are the kinds of arms, each a line of a figure.
var kinds = []struct {
	name string
	has  func(a arm) bool
}{
	{"expiry", func(a arm) bool { return a.Expiry > 0 && a.Count == 0 }},
	{"count", func(a arm) bool { return a.Count > 0 && a.Expiry == 0 }},
	{"lottery", func(a arm) bool { return a.Lottery > 0 }},
	{"capacity", func(a arm) bool { return a.Capacity > 0 }},
	{"expiry and count", func(a arm) bool { return a.Count > 0 && a.Expiry > 0 }},
}

// mean returns the mean of a number over courses.
func mean(courses []course, of func(c *course) float64) float64 {
	sum := 0.0
	for i := range courses {
		sum += of(&courses[i]) / float64(len(courses))
	}
	return sum
}

// quality returns the quality of an arm by seed.
func quality(courses []course, arm int) (q judge.Quality) {
	for _, c := range courses {
		q.AUC, q.LogLoss = append(q.AUC, c.Arms[arm].AUC), append(q.LogLoss, c.Arms[arm].LogLoss)
	}
	return q
}

// draw compares every arm with the one that keeps all rows.
func (p *plan) draw(courses []course) *report.Report {
	r := &report.Report{Notes: []string{fmt.Sprintf("AUC, rows and memory are of the second half of the "+
		"rows; a block of %d steps of %d rows is predicted, then trained on. Bytes are %d a row beside its "+
		"values, and %d an id that waits for one. Row gradients are lost if their id had no row. Figures "+
		"leave out arms that lose more than %g.", p.Steps, p.Batch, table.Overhead, waitingBytes,
		figureMost)}}
	_, absent := p.sets()
	r.Notes = append(r.Notes, absent...)
	var drawn []func()
	for len(courses) > 0 {
		of := courses[:p.Seeds]
		courses = courses[p.Seeds:]
		var own []*judge.Comparison
		for i, a := range p.Arms[1:] {
			c := judge.Pair(of[0].Set, a.String(), p.Arms[0].String(), p.Seed, quality(of, i+1),
				quality(of, 0))
			// That of the mean over seeds is at most the mean of those of the seeds.
			c.RowDeviation = mean(of, func(c *course) float64 { return c.Arms[i+1].RowDeviation })
			own = append(own, c)
		}
		r.Comparisons = append(r.Comparisons, own...)
		drawn = append(drawn, func() { // when all are judged
			r.Tables = append(r.Tables, p.table(of, own))
			r.Figures = append(r.Figures, p.figure(of, own))
		})
	}
	judge.Judge(r.Comparisons)
	for _, draw := range drawn {
		draw()
	}
	return r
}

// table returns the table of a data set.
func (p *plan) table(of []course, own []*judge.Comparison) cli.Table {
	t := cli.Table{Words: 1,
		Header: []string{"arm", "rows", "% bytes", "waiting", "lost", "ΔAUC, 10⁻³"},
		Caption: fmt.Sprintf("%s: AUC less %.4f, that of none; a row has %.0f bytes", of[0].Set,
			mean(of, func(c *course) float64 { return c.Arms[0].AUC }),
			of[0].Arms[0].Bytes/of[0].Arms[0].Rows)}
	all := mean(of, func(c *course) float64 { return c.Arms[0].Bytes })
	for i, a := range p.Arms {
		difference := ""
		if i > 0 {
			difference = report.MilliVerdict(own[i-1])
		}
		t.Add(a.String(), fmt.Sprintf("%.0f", mean(of, func(c *course) float64 { return c.Arms[i].Rows })),
			fmt.Sprintf("%.0f", 100*mean(of, func(c *course) float64 { return c.Arms[i].Bytes })/all),
			fmt.Sprintf("%.0f", mean(of, func(c *course) float64 { return c.Arms[i].Candidates })),
			fmt.Sprintf("%.1f %%", 100*mean(of, func(c *course) float64 { return c.Arms[i].Unlearned })),
			difference)
	}
	return t
}

// figureMost is the largest loss of AUC in a figure, so that arms that one might choose can be told apart.
const figureMost = 0.03

// figure returns the figure of a data set.
func (p *plan) figure(of []course, own []*judge.Comparison) report.Figure {
	f := report.Figure{Name: of[0].Set, Title: of[0].Set + ": what forgetting costs, and saves",
		X: report.Axis{Label: "memory of rows and of ids that wait (% of that of all rows)"},
		Y: report.Axis{Label: "AUC less that with all rows (95 %)"}}
	all := mean(of, func(c *course) float64 { return c.Arms[0].Bytes })
	for color, kind := range kinds {
		line := report.Line{Name: kind.name, Color: color}
		for i, a := range p.Arms {
			if i > 0 && kind.has(a) && own[i-1].AUC.Estimate > -figureMost {
				bytes := mean(of, func(c *course) float64 { return c.Arms[i].Bytes })
				line.Points = append(line.Points, report.IntervalPoint(100*bytes/all, own[i-1].AUC))
			}
		}
		if len(line.Points) > 0 {
			f.Lines = append(f.Lines, line)
		}
	}
	return f
}
