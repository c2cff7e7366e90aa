package claims

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// Row is a claim with its verdict.
type Row struct {
	claim
	Ours *report.Quantity `json:"ours,omitempty"`
	judgement
	// Run is the id of the run that the number is from, Command repeats it, Origin says where its result was.
	Run     string `json:"run,omitempty"`
	Command string `json:"command,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Version string `json:"version,omitempty"` // of the experiment: full or quick
	Origin  string `json:"origin,omitempty"`
	File    string `json:"file,omitempty"` // of the result, in its origin
}

// rows judges the claims by the results that were found.
func rows(list []claim, found map[string]Source) []Row {
	out := make([]Row, len(list))
	for i := range list {
		r := Row{claim: list[i]}
		from, ok := found[r.Experiment]
		switch {
		case r.Untestable != "":
			r.judgement = judgement{NotTestable, "", r.Untestable}
		case !ok:
			r.judgement = judgement{NotRun, "", "needs a run of " + r.Experiment}
		default:
			r.judge(from, found)
		}
		out[i] = r
	}
	return out
}

// judge judges a row by a result of its experiment, and by those of all for the number that it is times.
func (r *Row) judge(from Source, found map[string]Source) {
	r.Run, r.Command, r.Commit = from.Run, from.Command, from.Environment.Commit
	r.Version, r.Origin = map[bool]string{true: quick, false: full}[from.Quick()], from.Origin
	r.File = from.File
	ours, ok := from.Quantity(r.Quantity)
	if !ok || math.IsNaN(ours.Low) || math.IsNaN(ours.High) {
		r.judgement = judgement{NotRun, "", "this run of " + r.Experiment + " has no such number"}
		return
	}
	if by := r.Times; by != nil {
		var factor report.Quantity
		other, ok := found[by.Experiment]
		if ok {
			factor, ok = other.Quantity(by.Quantity)
		}
		if !ok {
			r.judgement = judgement{NotRun, "", "needs " + by.Quantity + " of a run of " + by.Experiment}
			return
		}
		ours.Interval, ours.What = ours.Times(factor.Interval), ours.What+", times "+factor.What
		if other.Quick() {
			r.Version = quick
		}
	}
	r.Ours = &ours
	r.judgement = judge(&r.claim, ours.Interval)
}

// The versions of an experiment.
const (
	full  = "full"
	quick = "quick"
)

// newReport returns the report of judged claims.
func newReport(p *plan, judged []Row) *report.Report {
	main := claimTable(judged)
	return &report.Report{
		Findings: findings(judged), Notes: notes(),
		Tables:   []cli.Table{main, whyTable(judged)},
		Headline: &report.Headline{Table: &main},
	}
}

// The widths of columns of words in the tables, which fit 80 columns.
const (
	claimColumns   = 23
	verdictColumns = 14
	whyColumns     = 36
)

// claimTable has the numbers of every claim.
func claimTable(judged []Row) cli.Table {
	t := cli.Table{
		Caption: "Published claims, and what the experiments here find",
		Header:  []string{"claim", "paper", "ours", "verdict"}, Words: 1,
	}
	for i := range judged {
		r := &judged[i]
		published, ours := "–", "–"
		if r.Published != nil {
			published = r.Published.String()
		}
		if r.Ours != nil {
			p := r.Published
			ours = fmt.Sprintf("%s\n(%s to %s)\n%s run", p.text(r.Ours.Estimate), p.digits(r.Ours.Low),
				p.digits(r.Ours.High), r.Version)
		}
		t.Add(cli.WrapAt(r.System+": "+r.Text, "  ", 0, claimColumns), published, ours,
			cli.WrapAt(r.judgement.String(), "", 0, verdictColumns))
	}
	return t
}

// whyTable has the reason of every verdict, and in what our number differs from the paper's.
func whyTable(judged []Row) cli.Table {
	t := cli.Table{Caption: "Reasons; go run ./experiments repeat RUN repeats a run",
		Header: []string{"claim", "verdict, reason and what differs", "run"}, Words: 3}
	for i := range judged {
		r := &judged[i]
		why := cli.WrapAt(string(r.Verdict)+": "+r.Why, "  ", 0, whyColumns)
		if r.Differs != "" {
			why += "\n" + cli.WrapAt("differs: "+r.Differs, "  ", 0, whyColumns)
		}
		run := r.Run
		if run == "" {
			run = "–"
		}
		t.Add(cli.WrapAt(r.ID, "  ", 0, claimColumns), why, run)
	}
	return t
}

// findings counts the verdicts by the versions of the runs, and names what was not reproduced.
func findings(judged []Row) []string {
	by := map[string][]Row{}
	var list []string
	for i := range judged {
		r := &judged[i]
		version := r.Version
		if r.Ours == nil {
			version = ""
		}
		by[version] = append(by[version], *r)
		if r.Verdict == NotReproduced {
			list = append(list, fmt.Sprintf(
				"Not reproduced: %s: %s The paper has %s, ours is %s (%s to %s, %s run): %s.",
				r.System, r.Text, r.Published.oneLine(), r.Published.text(r.Ours.Estimate),
				r.Published.digits(r.Ours.Low), r.Published.digits(r.Ours.High), r.Version, r.Why))
		}
	}
	first := fmt.Sprintf("There are %d claims.", len(judged))
	for _, version := range []string{full, quick} {
		if n := len(by[version]); n > 0 {
			first += fmt.Sprintf(" By %s runs, %d: %s.", version, n, counts(by[version]))
		}
	}
	if n := len(by[""]); n > 0 {
		first += fmt.Sprintf(" Without a number, %d: %s.", n, counts(by[""]))
	}
	return append([]string{first}, list...)
}

// counts says how many rows have each verdict, and what those lack that have the shape only.
func counts(judged []Row) string {
	count, lacks := map[Verdict]int{}, map[Lack]int{}
	for i := range judged {
		r := &judged[i]
		count[r.Verdict]++
		if r.Verdict == ShapeOnly {
			lacks[r.Lacks]++
		}
	}
	var parts []string
	for _, v := range verdicts() {
		if count[v] == 0 {
			continue
		}
		part := fmt.Sprintf("%d %s", count[v], v)
		if v == ShapeOnly {
			part += fmt.Sprintf(" (%d %s, %d met but %s)", lacks[ValueMissed], ValueMissed, lacks[TooWide],
				TooWide)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func notes() []string {
	return []string{
		fmt.Sprintf("A value is reproduced if our interval meets what its printed or digitised form "+
			"allows, excludes the value without an effect, and is narrow enough: at most a factor %g from "+
			"end to end, for an AUC difference at most ±%g and ± the published size. A bound is reproduced "+
			"if the whole interval keeps it. Shape only: the interval lies on the right side of the value "+
			"without an effect, but misses the published value or is too wide to confirm it.",
			paper.WidthMost, aucHalfWidthMost),
		"Intervals of throughputs span the unknown inputs of the simulator, those of AUC differences " +
			"seeds. Verdicts are those of single claims, not adjusted for their number.",
		"Digitised values were read off the pixels of figures; the published text of the paper's tables " +
			"could not be had.",
	}
}

// String returns the published number for a table.
func (p *published) String() string { return strings.ReplaceAll(p.oneLine(), ", ", "\n") }

// oneLine returns the published number with its form.
func (p *published) oneLine() string {
	low, high := p.ends()
	text := ""
	switch {
	case !p.isBound():
		text = p.text(*p.Value)
	case math.IsInf(low, -1):
		text = "≤ " + p.text(high)
	case math.IsInf(high, 1):
		text = "≥ " + p.text(low)
	case low == -high:
		text = "±" + p.text(high)
	default:
		text = p.digits(low) + " to " + p.text(high)
	}
	return text + ", " + p.Form
}

// text returns a number with the unit.
func (p *published) text(v float64) string {
	if p.Unit == "" {
		return p.digits(v)
	}
	return p.digits(v) + " " + p.Unit
}

// digits returns a number with about three digits, an AUC with four decimals.
func (p *published) digits(v float64) string {
	if p.Unit == "" {
		return report.Minus(strconv.FormatFloat(v, 'f', 4, 64))
	}
	decimals := 2
	if size := math.Abs(v); size >= 100 {
		decimals = 0
	} else if size >= 10 {
		decimals = 1
	}
	return report.Minus(strconv.FormatFloat(v, 'f', decimals, 64))
}
