package main

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/internal/cli"
)

const profileUsage = `Say how the ids of each column are spread: what decides the size of an
embedding table, the hit rate of a cache, and how often ids collide in hybrid
training.

Columns of the table:
  distinct        different ids
  ids a row       mean number of ids that are pooled
  max id share α  largest share of rows that hold one id; Persia's α
  Zipf s          exponent of p(rank) ∝ rank^−s by maximum likelihood, from rank 2
                  (α describes rank 1) to the last id seen 5 times or more; to the
                  last id at all if fewer than 10 are
  singletons      share of the ids that are seen once
  missing         share of rows with no id, or with an empty value or -1

A missing value counts as an id, since it has an embedding row. A sample shows
only the head of a column: the whole data set has more distinct ids.

With --yaml: the data section of a job file that generates rows alike. Its
cardinalities are the numbers of ids of which as many draws are expected to show
the distinct ids seen here. Columns, and the ids of a row, are drawn independently.`

const profileExamples = `  go run ./cmd/data profile clicks.tsv.gz
  go run ./cmd/data profile --file cmd/train/jobs/frappe.yaml --json
  go run ./cmd/data profile clicks.tsv.gz --yaml > alike.yaml`

func (p *program) profileCommand() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use: "profile [FILE]", Short: "Say how the ids of each column are spread", Long: profileUsage, Example: profileExamples,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.json && f.yaml {
				return cli.UsageError("choose one", "--json and --yaml do not go together")
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
				return found.writeYAML(p.stdout)
			}
			return found.writeText(p.stdout)
		},
	}
	f.inputFlags(c)
	f.badRowFlag(c)
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object instead of a table")
	c.Flags().BoolVar(&f.yaml, "yaml", false, "print the data section of a job file that generates rows alike")
	return c
}

// profile is what the command prints, and the object of --json.
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

func profileOf(s *subject) *profile {
	found := &profile{
		Name: s.Name, Kind: s.Config.Kind, Rows: s.rows(), DroppedRows: s.Dropped, Numbers: len(s.Schema.Dense),
		train: s.Parts[0].Rows.Samples,
	}
	found.test = found.Rows - found.train
	if len(s.Parts) == 1 { // a fifth for testing, as job.Split does
		found.test = max(found.Rows/5, 1)
		found.train = max(found.Rows-found.test, 1)
	}
	for _, part := range s.Parts {
		found.PositiveRate += float64(positives(part.Rows)) / float64(found.Rows)
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

func (n *profile) writeText(w io.Writer) error {
	fmt.Fprintf(w, "%s: kind %s, %d rows, positive rate %.4f, %d numbers\n", n.Name, n.Kind, n.Rows, n.PositiveRate, n.Numbers)
	if n.DroppedRows > 0 {
		fmt.Fprintf(w, "%d malformed rows dropped\n", n.DroppedRows)
	}
	t := cli.Table{Header: []string{"slot", "distinct", "ids a row", "max id share α", "Zipf s", "singletons", "missing"}, Words: 1}
	for _, slot := range n.Slots {
		zipf := "–"
		if slot.Zipf != nil {
			zipf = fmt.Sprintf("%.2f", *slot.Zipf)
		}
		t.Rows = append(t.Rows, []string{
			slot.Name, strconv.Itoa(slot.Distinct), fmt.Sprintf("%.2f", slot.Pooling), fmt.Sprintf("%.4f", slot.MaxShare),
			zipf, share(slot.once, max(slot.Distinct, 1)), fmt.Sprintf("%.4f", slot.Missing),
		})
	}
	return t.WriteText(w)
}

// writeYAML writes the data section of a job that generates rows alike, with
// comments on what the generator cannot do.
func (n *profile) writeYAML(w io.Writer) error {
	spec := &job.Synthetic{Seed: 1, TrainRows: n.train, TestRows: n.test, Numeric: n.Numbers}
	fmt.Fprintf(w, "# Rows like those of %s.\n", strconv.Quote(n.Name))
	if n.PositiveRate > 0 && n.PositiveRate < 1 {
		spec.PositiveRate = rounded(n.PositiveRate)
	} else {
		fmt.Fprintf(w, "# All labels are %.0f there; half are 1 here.\n", n.PositiveRate)
	}
	for _, slot := range n.Slots {
		if slot.Distinct == 0 {
			fmt.Fprintf(w, "# Column %s has no ids there and is left out.\n", strconv.Quote(slot.Name))
			continue
		}
		column := slot.law
		column.Name = slot.Name
		if slot.Pooling != 1 {
			column.IDsPerRow = min(rounded(slot.Pooling), job.IDsPerRowMax)
			if slot.Pooling > 1 {
				fmt.Fprintf(w, "# Column %s: the most frequent id is in %.4g of the rows there; ids drawn independently spread it further here.\n",
					strconv.Quote(slot.Name), slot.MaxShare)
			}
		}
		column.Exponent = math.Round(column.Exponent*1000) / 1000
		if top := rounded(column.Top); top >= 1/float64(column.Cardinality) && top < 1 {
			column.Top = top
		}
		spec.Columns = append(spec.Columns, column)
	}
	if err := spec.Validate(); err != nil {
		return fmt.Errorf("%s: rows alike cannot be generated: %w", n.Name, err)
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	section := map[string]job.Data{"data": {Kind: job.KindSynthetic, Synthetic: spec}}
	if err := e.Encode(section); err != nil {
		return err
	}
	return e.Close()
}

// rounded returns x to four significant digits.
func rounded(x float64) float64 {
	// What FormatFloat writes, ParseFloat reads.
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return short
}
