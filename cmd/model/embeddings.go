package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/inference"
	"tandem/runtime/retrieval"
)

const embeddingsUsage = `Find the ids of a slot whose embeddings are alike, or write all embeddings.

FILE is of the kind of the training data and has the column of the slot: its ids
are the ones that are compared. Those without a trained row are left out, and
counted. Under a hash-stack all ids have rows, new ones those of others.

With --near the ids most like one are printed, with the cosine of the angle
between their embeddings. All are compared, so the answer is exact. With --out
they are written as a Parquet file: id, rows (the values in FILE), embedding.

Ids are alike that the network treats alike: similar items, not items that the
same user would click.`

// embeddingsFlags are the flags of the command embeddings.
type embeddingsFlags struct {
	slot string
	near []string
	top  int
	out  string
}

func (p *program) embeddingsCommand() *cobra.Command {
	f := embeddingsFlags{}
	c := &cobra.Command{
		Use: "embeddings MODEL FILE --slot SLOT", Short: "Find ids that are alike, or write their embeddings",
		Long: embeddingsUsage,
		Example: "  go run ./cmd/model embeddings results/clicks/hybrid/model clicks.csv \\\n" +
			"    --slot item --near i17\n" +
			"  go run ./cmd/model embeddings results/clicks/hybrid/model clicks.csv \\\n" +
			"    --slot item --out items.parquet",
		Args: modelAndFile,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case f.slot == "":
				return cli.UsageError("name the column of the ids, as --slot item", "no --slot")
			case f.top < 1:
				return cli.UsageError("give the number of ids to print", "--top: %d; want at least 1", f.top)
			case len(f.near) == 0 && f.out == "":
				return cli.UsageError("name an id with --near, or a file with --out", "nothing to do")
			case f.out != "" && filepath.Ext(f.out) != ".parquet":
				return cli.UsageError("for example --out items.parquet", "--out %s: want a Parquet file",
					f.out)
			}
			if err := checkOut(f.out); err != nil {
				return err
			}
			return p.withModel(args[0], func(m *inference.Model) error {
				return p.embeddings(m, args[1], f)
			})
		},
	}
	c.Flags().StringVar(&f.slot, "slot", "", "compare the ids of this `SLOT`, a column")
	c.Flags().StringArrayVar(&f.near, "near", nil, "print what is most like this `ID`; may be repeated")
	c.Flags().IntVar(&f.top, "top", 10, "with --near, print this `NUMBER` of ids")
	c.Flags().StringVar(&f.out, "out", "", "write all to this Parquet `FILE`, which must not exist")
	return c
}

// embeddings prints the ids that are like some of a file, and writes the embeddings of all.
func (p *program) embeddings(m *inference.Model, path string, f embeddingsFlags) error {
	if slices.Contains(m.Wide(), f.slot) {
		return &cli.Error{Hint: "name a slot that model.wide of the job does not name",
			Err: fmt.Errorf("--slot %s: it is a wide slot: its ids have one weight each and no embedding",
				f.slot)}
	}
	items, err := retrieval.Collect(m, f.slot, func(use func(text string, id uint64)) error {
		return datasets.EachID(m.Data(), path, f.slot, use)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "model: %d ids of the slot %s, %d values each; %d others have no trained row\n",
		len(items.IDs), f.slot, items.Dim, items.Untrained)
	if len(f.near) > 0 && items.Dim == 1 {
		return &cli.Error{Hint: "train with rows of several values, as model.kind: deepfm in a job file",
			Err: fmt.Errorf("--near: the embeddings of %s have one value each: none is nearer than another",
				f.slot)}
	}
	for _, text := range f.near {
		id, err := datasets.IDOf(m.Data(), f.slot, text)
		if err != nil {
			return err
		}
		at := items.Find(id)
		if at < 0 {
			return &cli.Error{Hint: "name one as it is written in the file",
				Err: fmt.Errorf("--near %s: no id with a trained row of the column %s%s", text, f.slot,
					likely(text, items.IDs))}
		}
		if err := p.printNear(items, at, f.top); err != nil {
			return err
		}
	}
	if f.out == "" {
		return nil
	}
	if err := writeWhole(f.out, items.WriteParquet); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "model: the embeddings are in %s\n", f.out)
	return nil
}

// likelyMost is the number of ids that an error names.
const likelyMost = 3

// likely names, for an error, the ids that a text may stand for: those that differ in capitals, blanks and
// leading zeros alone or, if there are none, the one with the nearest spelling.
func likely(text string, ids []string) string {
	plain := func(id string) string {
		return strings.ToLower(strings.TrimLeft(strings.TrimSpace(id), "0"))
	}
	var found []string
	for _, id := range ids {
		if plain(id) == plain(text) && len(found) < likelyMost {
			found = append(found, quoted(id))
		}
	}
	if len(found) == 0 {
		nearest := job.Nearest(text, ids)
		if nearest == "" {
			return ""
		}
		found = append(found, quoted(nearest))
	}
	if len(found) > 1 {
		return "; the nearest are " + strings.Join(found, ", ")
	}
	return "; the nearest is " + strings.Join(found, ", ")
}

// printNear prints the ids that are most like one.
func (p *program) printNear(items *retrieval.Items, at, top int) error {
	fmt.Fprintf(p.stdout, "Nearest to %s, by the cosine of embeddings:\n", quoted(items.IDs[at]))
	t := cli.Table{Header: []string{items.Slot, "cosine", "rows"}, Words: 1}
	for _, n := range items.Nearest(at, top) {
		t.Add(quoted(items.IDs[n.Item]), fmt.Sprintf("%.4f", n.Cosine), fmt.Sprint(items.Counts[n.Item]))
	}
	return t.WriteText(p.stdout)
}

// quoted returns an id for a table, in quotes if it would not be seen or break the line.
func quoted(id string) string {
	if id == strings.TrimSpace(id) && id != "" && !strings.ContainsFunc(id, unicode.IsControl) {
		return id
	}
	return strconv.Quote(id)
}
