// Package defaults compares what cmd/train makes of a table at its defaults with classifiers of other
// libraries at theirs, on the same rows.
package defaults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

const experimentName = "defaults"

// New returns the experiment.
func New() *report.Experiment {
	var python report.Python
	var libraries, only []string
	var stored string
	var retrain bool
	return report.Study(report.Experiment{
		Name:     experimentName,
		Question: "Does a table become a good model at the defaults of cmd/train --data?",
		Help: `Columns are inferred, settings follow from the rows, and held-back rows choose
derived slots, model and epochs, as in cmd/train --data. Every seed draws a split
of its own, but for tables with test files. Beside it are the logistic regression
of scikit-learn on one-hot ids, LightGBM and CatBoost, at their defaults, on the
same rows; what the interpreter lacks is left out.

Six tables are generated: their labels follow from pairs of columns. The rules
behind the defaults were chosen on other tables; census income, which is one of
them, is marked. Demanded are an AUC of at least that of the best of the others
less 0.01, a log loss below that of guessing the share of positive rows, and 60 s
for choosing and training.

The quick version has census income alone, and the regression. Real data need the
data folder. The Python interpreter is the one that --python or the environment
variable TANDEM_PYTHON names, or python3. CatBoost takes minutes for a split; with
--extend it is added to an earlier run, whose models are not trained again.`,
		QuickTime: time.Minute,
		AddFlags: func(flags *pflag.FlagSet) {
			python.Flag("use this Python interpreter with scikit-learn, and for\nothers pandas (default " +
				"$TANDEM_PYTHON, or python3)")(flags)
			flags.StringSliceVar(&libraries, "libraries", allPeers, "compare with these `LIBRARIES`")
			flags.StringVar(&stored, "extend", "", "keep the splits of an earlier run, whose numbers are in "+
				"this `FILE`,\nand add what they lack: splits, and libraries on splits")
			flags.BoolVar(&retrain, "retrain", false, "with --extend, train Tandem's models again and\nkeep "+
				"those of the other libraries")
			flags.StringSliceVar(&only, "tables", nil, "measure these `TABLES` alone")
		},
	}, func(o report.Options) (*plan, error) {
		for _, name := range libraries {
			if !slices.Contains(allPeers, name) {
				return nil, cli.UsageError("libraries are "+strings.Join(allPeers, ", "), "--libraries: %s",
					job.Unknown(name, allPeers))
			}
		}
		if retrain && stored == "" {
			return nil, cli.UsageError("name an earlier run by --extend", "--retrain: nothing is kept")
		}
		measured, err := named(tables(o.Quick), only)
		if err != nil {
			return nil, err
		}
		p := &plan{Seed: o.Seed, Seeds: o.Seeds, Tables: measured, Libraries: libraries, Extended: stored,
			Retrained: retrain, folder: o.DataFolder}
		if o.Quick {
			p.Libraries = allPeers[:1]
		}
		return p, nil
	}, func(p *plan, ctx context.Context, o report.Options) ([]*result, error) {
		found, err := python.With(ctx, modulesFor(p.Libraries))
		if err != nil {
			return nil, err
		}
		return p.measure(ctx, found, o)
	}, (*plan).report)
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed   uint64  `yaml:"seed"` // the first
	Seeds  int     `yaml:"seeds"`
	Tables []table `yaml:"tables"`
	// Libraries are those that are compared with where they are installed.
	Libraries []string `yaml:"libraries"`
	// Extended is the file of an earlier run to which this one adds, or "".
	Extended string `yaml:"extend,omitempty"`
	// Retrained says that Tandem's models of the earlier run are trained again.
	Retrained bool   `yaml:"retrain,omitempty"`
	folder    string // of real data
}

// table is a table to train on.
type table struct {
	report.DataSet `yaml:",inline"`
	Label          string `yaml:"label,omitempty"` // of a file whose columns are inferred
	// Generated says that the rows are drawn, and not in a file.
	Generated bool `yaml:"generated,omitempty"`
	// Tuned says that the rules behind the defaults were chosen on this table, among others.
	Tuned bool `yaml:"tuned"`
}

// split is a table with the seed of its split and of its training.
type split struct {
	table
	seed uint64
}

// name returns the name of a split.
func (s split) name() string { return fmt.Sprintf("%s, seed %d", s.Name, s.seed) }

// named returns the tables with some names, in the order of these, or all if there are none.
func named(all []table, names []string) ([]table, error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, t := range all {
		known = append(known, t.Name)
	}
	var some []table
	for _, name := range names {
		at := slices.Index(known, name)
		if at < 0 {
			return nil, cli.UsageError("tables are "+strings.Join(known, ", "), "--tables: %s",
				job.Unknown(name, known))
		}
		some = append(some, all[at])
	}
	return some, nil
}

// tables returns the tables.
func tables(quick bool) []table {
	all := []table{{DataSet: report.AdultIncome(), Tuned: true}}
	if quick {
		return all
	}
	for _, g := range generatedTables {
		all = append(all, table{DataSet: report.DataSet{Name: g.name}, Label: "click", Generated: true})
	}
	file := func(name, path, label string) table {
		return table{DataSet: report.File(name, path, "rows of "+name+" with a header, whose column "+
			label+" is 0 or 1"), Label: label}
	}
	criteo := report.CriteoHead()
	criteo.Data.Split.How = job.SplitRandom
	return append(all,
		file("alimama", "alimama-ijcai18/ijcai18_union.csv.gz", "Label"),
		file("avazu-10h", "avazu/avazu_union.csv.gz", "click"),
		file("avazu", "avazu/avazu_random15k.csv", "click"),
		table{DataSet: criteo},
		file("criteo-indexed", "criteo-kaggle-indexed/rows_90k_110k.csv.gz", "Label"),
		table{DataSet: report.Frappe()},
		table{DataSet: report.MovieLens100K()},
		file("open-bandit", "open-bandit/bts_men.csv", "click"),
		file("talkingdata", "talkingdata-100k/train_sample.csv.gz", "is_attributed"))
}
