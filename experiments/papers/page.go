package papers

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tandem/experiments/fidelity/claims"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// Input is what a page is made of.
type Input struct {
	Stored fs.FS // the results that are kept with the program
	// Folder has results that come before the stored ones; empty: there is none. Earlier are folders of runs
	// of the same command, which come before both.
	Folder  string
	Earlier []string
	// Redraw makes a report again from the text of its file of numbers.
	Redraw func(text []byte) (*report.Report, error)
}

// Page is the page.
type Page struct {
	Counts   string       // the claims by verdict, in a sentence
	Claims   []claims.Row // all of them
	Exhibits []*Exhibit
	Methods  Methods
}

// Exhibit is a figure or table of a paper.
type Exhibit struct {
	Name   string // of its file and its place on the page
	Title  string
	Theirs string         // what the paper shows, and where its values are from
	Figure *report.Figure // nil: there is none
	Says   string         // what follows, in a sentence
	Claims []claims.Row   // those that the exhibit is about, judged
	Tables []cli.Table
	Notes  []string // how ours was made, and what is missing
}

// maker makes the exhibits of a page.
type maker struct {
	found map[string]claims.Source
	again map[string]*report.Report // drawn again, by experiment
	input *Input
}

// New makes the page.
func New(in Input) (*Page, error) {
	found, err := claims.Find(in.Stored, in.Folder, in.Earlier)
	if err != nil {
		return nil, err
	}
	judged, err := claims.Judge(found)
	if err != nil {
		return nil, err
	}
	m := &maker{found, map[string]*report.Report{}, &in}
	p := &Page{Claims: judged, Counts: claims.Counts(judged)}
	for _, s := range specs() {
		e := &Exhibit{Name: s.name, Title: s.title, Theirs: s.theirs}
		if err := s.make(m, e); err != nil {
			return nil, fmt.Errorf("papers: %s: %w", s.name, err)
		}
		for i := range judged {
			if slices.Contains(s.claims, judged[i].ID) {
				e.Claims = append(e.Claims, judged[i])
			}
		}
		p.Exhibits = append(p.Exhibits, e)
	}
	p.Methods, err = m.methods()
	return p, err
}

// Experiments returns the experiments that the page shows, those first that a reader wants first.
func Experiments() []string {
	return []string{"scalability", "kwai", "convergence", "gantt", "capacity", "neo", "auc-table", "source",
		"avazu"}
}

// Quick returns those of them with the figures of throughput and convergence, whose quick versions take some
// minutes together.
func Quick() []string { return Experiments()[:5] }

// redraw returns the report of an experiment, made again from its numbers.
func (m *maker) redraw(experiment string) (*report.Report, error) {
	if r := m.again[experiment]; r != nil {
		return r, nil
	}
	from, ok := m.found[experiment]
	if !ok {
		return nil, fmt.Errorf("there is no result of %s", experiment)
	}
	text, err := from.Text()
	if err != nil {
		return nil, err
	}
	r, err := m.input.Redraw(text)
	if err == nil {
		m.again[experiment] = r
	}
	return r, err
}

// draw sets the figure of an exhibit to one that an experiment draws, and says how it was made.
func (m *maker) draw(e *Exhibit, experiment, figure string) error {
	r, err := m.redraw(experiment)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(r.Figures, func(f report.Figure) bool { return f.Name == figure })
	if at < 0 {
		return fmt.Errorf("%s draws no figure %q", experiment, figure)
	}
	e.Figure = &r.Figures[at]
	e.Notes = append(e.Notes, m.madeBy(experiment))
	return nil
}

// data reads what an experiment has stored.
func (m *maker) data(experiment string, into any) error {
	from, ok := m.found[experiment]
	if !ok {
		return fmt.Errorf("there is no result of %s", experiment)
	}
	text, err := from.Text()
	if err != nil {
		return err
	}
	file := struct {
		Data any `json:"data"`
	}{into}
	if err := json.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("%s: %w", from.File, err)
	}
	return nil
}

// quantity returns a quantity of an experiment, or an error.
func (m *maker) quantity(experiment, name string) (report.Quantity, error) {
	from, ok := m.found[experiment]
	if ok {
		if q, ok := from.Quantity(name); ok {
			return q, nil
		}
	}
	return report.Quantity{}, fmt.Errorf("no result of %s has a number %s", experiment, name)
}

// madeBy says which runs a part of the page is from.
func (m *maker) madeBy(experiments ...string) string {
	var runs []string
	for _, name := range experiments {
		from := m.found[name]
		day, _, _ := strings.Cut(from.Started, " ")
		runs = append(runs, fmt.Sprintf("%s run %s of %s, %s", version(from), from.Run, name, day))
	}
	return "Ours: " + strings.Join(runs, "; ") + "."
}

// version returns whether a result is of a full run or of a quick one.
func version(from claims.Source) string {
	if from.Quick() {
		return "quick"
	}
	return "full"
}
