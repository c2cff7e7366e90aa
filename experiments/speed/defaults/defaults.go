// Package defaults compares what cmd/train makes of a table at its defaults with the logistic regression of
// scikit-learn on the same rows.
package defaults

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	var python report.Python
	return report.Study(report.Experiment{
		Name:     "defaults",
		Question: "Does a table become a good model at the defaults of cmd/train --data?",
		Help: `Columns are inferred, settings follow from the rows, and held-back rows choose
model and epochs, as in cmd/train --data. Each table is trained in mode hybrid
under every seed. Beside it is the logistic regression of scikit-learn (C = 1) on
the same split, the same ids one-hot and the same scaled numbers.

The rules behind the defaults were chosen on other tables; census income, which is
one of them, is marked. Demanded are an AUC of at least that of scikit-learn less
0.02, or twice the paired standard error where that is more, a log loss below that
of guessing the share of positive rows, and 60 s for choosing and training.

The quick version has census income alone. Real data need the data folder.
scikit-learn is used from the Python interpreter that --python or the environment
variable TANDEM_PYTHON names, or from python3.`,
		QuickTime: 15 * time.Second,
		AddFlags: python.Flag("use this Python interpreter with scikit-learn\n(default $TANDEM_PYTHON, or " +
			"python3)"),
	}, func(o report.Options) (*plan, error) {
		return &plan{Seed: o.Seed, Seeds: o.Seeds, Tables: tables(o.Quick), folder: o.DataFolder}, nil
	}, func(p *plan, ctx context.Context, o report.Options) ([]*result, error) {
		found, err := python.With(ctx, peerModules)
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
	folder string  // of real data
}

// table is a table to train on.
type table struct {
	report.DataSet `yaml:",inline"`
	Label          string `yaml:"label,omitempty"` // of a file whose columns are inferred
	// Tuned says that the rules behind the defaults were chosen on this table, among others.
	Tuned bool `yaml:"tuned"`
}

// name returns the name of a table.
func (t table) name() string { return t.Name }

// tables returns the tables.
func tables(quick bool) []table {
	all := []table{{DataSet: report.AdultIncome(), Tuned: true}}
	if quick {
		return all
	}
	file := func(name, path, label string) table {
		return table{DataSet: report.File(name, path, "rows of "+name+" with a header, whose column "+
			label+" is 0 or 1"), Label: label}
	}
	return append(all,
		file("alimama", "alimama-ijcai18/ijcai18_union.csv.gz", "Label"),
		file("avazu-10h", "avazu/avazu_union.csv.gz", "click"),
		file("avazu", "avazu/avazu_random15k.csv", "click"),
		file("criteo-indexed", "criteo-kaggle-indexed/rows_90k_110k.csv.gz", "Label"),
		table{DataSet: report.Frappe()},
		file("talkingdata", "talkingdata-100k/train_sample.csv.gz", "is_attributed"))
}
