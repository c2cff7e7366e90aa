package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/datasets/similar"
	"tandem/internal/cli"
	"tandem/internal/parallel"
)

const profileUsage = `Profile the distribution of the ids in each column. It determines the size of
an embedding table, the hit rate of a cache, and how often ids collide in hybrid
training.

Columns of the table, and keys of a slot with --json:
  seen         distinct      different ids in the rows
  ids in all   ids_low,      95 % confidence interval of the number of ids of the
               ids_high      column; "≥ n" and null where the rows bound it from
                             below only
               ids           the estimate of Chao (1984); without ids_high, of a
                             lower bound
  coverage     coverage      estimated share of further rows whose id is among
                             those seen (Good and Turing, 1953)
  ids/row      ids_per_row   mean number of ids in a row; shown if above 1
  α            max_id_share  largest share of rows that hold the same id;
                             Persia's α
  Zipf s       zipf          maximum-likelihood exponent of p(rank) ∝ rank^−s,
                             from rank 2 (α describes rank 1) to the last id
                             that occurs at least 5 times, or to the last id if
                             fewer than 10 ids do
               singletons    share of the ids seen that occur once
  blank        missing       share of rows without an id, or with an empty value
                             or -1

A blank counts as an id, because it has an embedding row. The number of ids has
an upper bound only if its estimate does not grow with the number of rows. No
rows tell of ids far rarer than 1 in as many rows: the interval leaves them out.

--yaml prints the data section of a job file that generates similar rows. They
are expected to show as many different ids as the data set, as many that occur
once, and the same shares of the frequent ids. A logistic regression is fitted
to the training rows (without a job, to the first four fifths): its labels are
drawn so that the regression predicts them as well as those of the data set.
Columns are tied to a column that determines them, as a site determines its
domain. All other columns, and the ids of a row, are drawn independently.`

const profileExamples = `  go run ./cmd/data profile clicks.tsv.gz
  go run ./cmd/data profile --file cmd/train/jobs/frappe.yaml --json
  go run ./cmd/data profile clicks.tsv.gz --yaml > alike.yaml`

func (p *program) profileCommand() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use: "profile [FILE]", Short: "Profile the distribution of the ids in each column",
		Long: profileUsage, Example: profileExamples,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.json && f.yaml {
				return cli.UsageError("choose one", "--json and --yaml cannot be combined")
			}
			policy, err := f.policy()
			if err != nil {
				return err
			}
			s, err := p.open(f, args, policy)
			if err != nil {
				return err
			}
			found := profileOf(s)
			switch {
			case f.json:
				return writeJSON(p.stdout, found)
			case f.yaml:
				return found.writeYAML(p.stdout, s)
			}
			return found.writeText(p.stdout)
		},
	}
	f.inputFlags(c)
	f.badRowFlag(c)
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object instead of a table")
	c.Flags().BoolVar(&f.yaml, "yaml", false, "print the data section of a similar job")
	return c
}

// profile is the output of the command, and the object of --json.
type profile struct {
	Name         string        `json:"name"`
	Kind         job.DataKind  `json:"kind"`
	Rows         int           `json:"rows"`
	DroppedRows  int           `json:"dropped_rows"`
	PositiveRate float64       `json:"positive_rate"`
	Numbers      int           `json:"numbers"`
	Slots        []slotProfile `json:"slots"`

	train, test int // rows of the parts
}

func profileOf(s *dataset) *profile {
	found := &profile{
		Name: s.Name, Kind: s.Job.Kind, Rows: s.rows(), DroppedRows: s.Dropped, Numbers: len(s.Schema.Dense),
		train: s.Parts[0].Rows.Samples,
	}
	found.test = found.Rows - found.train
	if len(s.Parts) == 1 { // a fifth for testing, as job.Split does
		found.test = max(found.Rows/5, 1)
		found.train = max(found.Rows-found.test, 1)
	}
	for _, part := range s.Parts {
		found.PositiveRate += labelMean(part.Rows) * float64(part.Rows.Samples) / float64(found.Rows)
	}
	for slot := range s.Schema.Slots {
		counts := newIDCounts()
		for _, part := range s.Parts {
			counts.add(part.Rows.Slots[slot], part.Rows.Samples)
		}
		found.Slots = append(found.Slots, counts.profile(s.Schema.Slots[slot].Name))
	}
	return found
}

func (p *profile) writeText(w io.Writer) error {
	fmt.Fprintf(w, "%s: kind %s, %d rows, positive rate %.4f, %d numbers\n", p.Name, p.Kind, p.Rows,
		p.PositiveRate, p.Numbers)
	if p.DroppedRows > 0 {
		fmt.Fprintf(w, "%d bad rows skipped\n", p.DroppedRows)
	}
	hasSeveral := slices.ContainsFunc(p.Slots, func(slot slotProfile) bool { return slot.MeanIDs > 1 })
	t := cli.Table{Words: 1,
		Header: []string{"slot", "seen", "ids in all", "coverage", "α", "Zipf s", "blank"}}
	if hasSeveral {
		t.Header = slices.Insert(t.Header, 4, "ids/row")
	}
	for _, slot := range p.Slots {
		zipf := "–"
		if slot.Zipf != nil {
			zipf = fmt.Sprintf("%.2f", *slot.Zipf)
		}
		ids, coverage := "–", "–"
		if slot.Distinct > 0 {
			ids, coverage = slot.idsInAll(), fmt.Sprintf("%.4f", slot.Coverage)
		}
		row := []string{
			slot.Name, strconv.Itoa(slot.Distinct), ids, coverage,
			fmt.Sprintf("%.4f", slot.MaxShare), zipf, fmt.Sprintf("%.4f", slot.Missing),
		}
		if hasSeveral {
			row = slices.Insert(row, 4, fmt.Sprintf("%.2f", slot.MeanIDs))
		}
		t.Rows = append(t.Rows, row)
	}
	return t.WriteText(w)
}

// writeYAML writes the data section of a job that generates similar rows, with comments on the
// differences.
func (p *profile) writeYAML(w io.Writer, s *dataset) error {
	spec := &job.Synthetic{Seed: 1, TrainRows: p.train, TestRows: p.test, Numeric: p.Numbers}
	comment(w, "Rows like those of %s.", strconv.Quote(p.Name))
	if p.PositiveRate > 0 && p.PositiveRate < 1 {
		spec.PositiveRate = rounded(p.PositiveRate)
	} else {
		comment(w, "All labels of the data set are %.0f; here half of them are 1.", p.PositiveRate)
	}
	slots := p.fitColumns(w, spec)
	spec.Ties = similar.FindTies(spec, s.Parts[0].Rows, p.train, slots)
	if err := spec.Validate(); err != nil {
		return fmt.Errorf("%s: similar rows cannot be generated: %w", p.Name, err)
	}
	if signal, ok := similar.FitTeacher(spec, s.Parts[0].Rows, p.train, slots); ok {
		comment(w, "AUC of a logistic regression on rows that it was not fitted to: %.4f of the training "+
			"rows of the data set, %.4f of generated rows.", signal.AUC, signal.Generated)
	} else {
		comment(w, "Too few training rows have one of the labels: the labels here are not fitted to them.")
	}
	return encodeData(w, &job.Data{Kind: job.KindSynthetic, Synthetic: spec})
}

// fitColumns sets the columns of a description and returns the slots that they describe.
func (p *profile) fitColumns(w io.Writer, spec *job.Synthetic) (slots []int) {
	var unbounded []string
	for i, slot := range p.Slots {
		if slot.Distinct == 0 {
			comment(w, "Column %s of the data set has no ids and is omitted.", strconv.Quote(slot.Name))
			continue
		}
		slots = append(slots, i)
		if slot.IDsHigh == nil {
			unbounded = append(unbounded, slot.Name)
		}
		if slot.MeanIDs > 1 {
			comment(w, "Column %s: the most frequent id is in %.4g of the rows of the data set, and in "+
				"more rows "+
				"here, because the ids of a row are drawn independently.", strconv.Quote(slot.Name),
				slot.MaxShare)
		}
	}
	if len(unbounded) > 0 {
		comment(w, "The rows do not bound the number of ids of these columns from above; their "+
			"cardinalities are "+
			"guesses that show as many ids in as many rows: %s.", strings.Join(unbounded, ", "))
	}
	spec.Columns = make([]job.SyntheticColumn, len(slots))
	parallel.ForEach(parallel.Cores(), len(slots), func(i int) {
		slot := p.Slots[slots[i]]
		spec.Columns[i] = similar.Column(slot.occurrences)
		spec.Columns[i].Name = slot.Name
		if slot.MeanIDs != 1 {
			spec.Columns[i].IDsPerRow = min(rounded(slot.MeanIDs), job.IDsPerRowMax)
		}
	})
	return slots
}

// comment writes a comment of YAML in lines of at most 80 columns.
func comment(w io.Writer, format string, args ...any) {
	const width = 80
	line := "#"
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			fmt.Fprintln(w, line)
			line = "#"
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}

// encodeData writes the data section of a job, with the coverage points of a column in one line.
func encodeData(w io.Writer, data *job.Data) error {
	var node yaml.Node
	if err := node.Encode(map[string]*job.Data{"data": data}); err != nil {
		return err
	}
	flow(&node)
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(&node); err != nil {
		return err
	}
	return e.Close()
}

// flow gives every sequence with the key coverage the style [a, b].
func flow(node *yaml.Node) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == "coverage" {
			child.Style = yaml.FlowStyle
		}
		flow(child)
	}
}

// rounded returns x to four significant digits.
func rounded(x float64) float64 {
	// ParseFloat reads everything that FormatFloat writes.
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return short
}
