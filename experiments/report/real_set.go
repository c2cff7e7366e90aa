package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// AdultIncome returns the census data that are part of this module: 32,561 training and 16,281 test rows.
func AdultIncome() DataSet {
	return DataSet{Name: "adult-income", Data: job.Data{Kind: job.KindAdultIncome}}
}

// Frappe returns a log of app use: 57,722 training and 28,860 test rows, 10 columns of ids.
func Frappe() DataSet {
	return DataSet{
		Name: "frappe",
		Data: job.Data{
			Kind: job.KindLibFM, Train: "frappe/nfm_validation.libfm.gz", Test: "frappe/nfm_test.libfm.gz",
		},
		obtain: "the validation and test files of Frappe in libfm's format, from the repository of neural " +
			"factorization machines (He, Chua 2017)",
	}
}

// MovieLens1M returns the interactions of MovieLens 1M: 994,169 rows and 6,040 test rows, one per user, each
// with four items that the user did not rate.
func MovieLens1M() DataSet {
	return DataSet{
		Name: "movielens-1m",
		Data: job.Data{
			Kind: job.KindMovieLensImplicit, Train: "movielens-1m-implicit/train.csv.gz",
			Test: "movielens-1m-implicit/test.csv",
		},
		obtain: "the ratings of MovieLens 1M (grouplens.org) as lines \"user-gender-age-occupation," +
			"item-genre\", the last of each user in test.csv",
	}
}

// Avazu returns a sample of Avazu's click log: 15,000 rows over all hours, without device_ip. The reader
// makes 23 slots of its columns. The last fifth are test rows.
func Avazu() DataSet {
	return DataSet{
		Name:   "avazu",
		Data:   job.Data{Kind: job.KindAvazu, Path: "avazu/avazu_random15k.csv"},
		obtain: "15,000 random rows of train.csv of Kaggle's contest Click-Through Rate Prediction",
	}
}

// CriteoHead returns the first 10,000 rows of Criteo's display advertising challenge: 26 columns of ids and
// 13 of numbers. The last fifth are test rows.
func CriteoHead() DataSet {
	return DataSet{
		Name:   "criteo-head",
		Data:   job.Data{Kind: job.KindCriteo, Path: "criteo-kaggle-head/train_head10k.txt.gz"},
		obtain: "the first 10,000 rows of train.txt of Criteo's Display Advertising Challenge, gzipped",
	}
}

// IJCAI18 returns conversions of Alimama's search ads: 53,227 rows, 2 % of them positive, 8 columns of ids.
// The rows were joined from several files, so a random fifth are test rows.
func IJCAI18() DataSet {
	return DataSet{
		Name: "ijcai18",
		Data: job.Data{
			Kind: job.KindIJCAI18, Path: "alimama-ijcai18/ijcai18_union.csv.gz",
			Split: job.Split{How: job.SplitRandom, Seed: 1},
		},
		obtain: "labelled rows of the contest IJCAI-18 (Tianchi) with columns Label, I1 to I13, C1 to C8, " +
			"gzipped",
	}
}

// TaobaoAd returns a sample of Taobao's display ads: 500 rows with 18 slots, among them sequences of 50.
// It shows the columns and is too small to judge a training. The last fifth are test rows.
func TaobaoAd() DataSet {
	return DataSet{
		Name:   "taobao-ad",
		Data:   job.Data{Kind: job.KindTaobaoAd, Path: "taobao-ad-sample/dmr_sample500.csv"},
		obtain: "the 500 sample rows of the model DMR in PaddleRec",
	}
}

// TalkingData returns clicks on ads for apps: 100,000 rows, 0.2 % of them positive, 5 columns of ids. The
// last fifth are test rows.
func TalkingData() DataSet {
	table := job.Table{Label: "is_attributed"}
	for _, name := range []string{"ip", "app", "device", "os", "channel"} {
		table.Slots = append(table.Slots, job.IDColumn{Column: name})
	}
	return DataSet{
		Name: "talkingdata",
		Data: job.Data{
			Kind: job.KindCSV, Path: "talkingdata-100k/train_sample.csv.gz", CSV: &table,
		},
		obtain: "train_sample.csv of Kaggle's contest TalkingData AdTracking, gzipped",
	}
}

// RealSets returns all real data sets: the one in this module, then those that need files.
func RealSets() []DataSet {
	return []DataSet{
		AdultIncome(), Frappe(), MovieLens1M(), Avazu(), CriteoHead(), IJCAI18(), TaobaoAd(), TalkingData(),
	}
}

// Present returns the data sets whose files are in a data folder, which may be empty.
func Present(sets []DataSet, folder string) []DataSet {
	return slices.DeleteFunc(slices.Clone(sets), func(d DataSet) bool { return d.Check(folder) != nil })
}

// Check returns an error that says what to get and where to put it unless the files of a data set are in a
// data folder.
func (d DataSet) Check(folder string) error {
	for _, name := range []string{d.Data.Path, d.Data.Train, d.Data.Test} {
		switch {
		case name == "":
			continue
		case folder == "" && !filepath.IsAbs(name):
			return &cli.Error{
				Err:  fmt.Errorf("%s: there is no data folder for %s", d.Name, name),
				Hint: "give --data-folder or set TANDEM_DATA; the file is " + d.obtain,
			}
		case folder != "" && !filepath.IsAbs(name):
			name = filepath.Join(folder, name)
		}
		if _, err := os.Stat(name); err != nil {
			return &cli.Error{
				Err:  fmt.Errorf("%s: there is no %s", d.Name, name),
				Hint: "put there " + d.obtain,
			}
		}
	}
	return nil
}

// NamedSet returns the real data set of a name.
func NamedSet(name string) (DataSet, error) {
	var names []string
	for _, d := range RealSets() {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	hint := "data sets are " + strings.Join(names, ", ")
	if near := job.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return DataSet{}, cli.UsageError(hint, "unknown data set %q", name)
}
