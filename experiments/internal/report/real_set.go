package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

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

// CriteoIndexed returns 20,000 later rows of the same challenge, whose ids and numbers are ranks by
// frequency: all 39 columns are ids. The last fifth are test rows.
func CriteoIndexed() DataSet {
	d := table("criteo-indexed", "criteo-kaggle-indexed/rows_90k_110k.csv.gz", "Label",
		"rows of train.txt of Criteo's Display Advertising Challenge with columns Label, I1 to I13, C1 to "+
			"C26 as numbers of values, gzipped")
	for i := range 13 {
		d.addSlots(fmt.Sprintf("I%d", i+1))
	}
	for i := range 26 {
		d.addSlots(fmt.Sprintf("C%d", i+1))
	}
	return d
}

// TalkingData returns clicks on advertisements for apps: 100,000 rows with 5 columns of ids, 0.2 % of them
// positive, which are downloads. They were drawn at random from the log; the last fifth are test rows.
func TalkingData() DataSet {
	d := table("talkingdata", "talkingdata-100k/train_sample.csv.gz", "is_attributed",
		"train_sample.csv of Kaggle's contest TalkingData AdTracking Fraud Detection, gzipped")
	d.addSlots("ip", "app", "device", "os", "channel")
	return d
}

// OpenBandit returns views of a shop's recommendations that were chosen at random: 10,000 rows with 6 columns
// of ids, 0.5 % of them clicked. The last fifth are test rows.
func OpenBandit() DataSet {
	d := table("open-bandit", "open-bandit/random_men.csv", "click",
		"the small version of the Open Bandit Dataset (ZOZO Research), random/men/men.csv")
	d.addSlots("item_id", "position", "user_feature_0", "user_feature_1", "user_feature_2", "user_feature_3")
	return d
}

// table returns the data set of a delimited file with a header and a label of 0 or 1.
func table(name, path, label, obtain string) DataSet {
	return DataSet{
		Name:   name,
		Data:   job.Data{Kind: job.KindCSV, Path: path, CSV: &job.Table{Label: label}},
		obtain: obtain,
	}
}

// addSlots adds columns of ids to a table.
func (d *DataSet) addSlots(columns ...string) {
	for _, c := range columns {
		d.Data.CSV.Slots = append(d.Data.CSV.Slots, job.IDColumn{Column: c})
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

// MovieLens100K returns the ratings of MovieLens 100K, positive from 4 stars: 100,000 rows with 6 columns of
// ids and a list of genres. The last fifth are test rows.
func MovieLens100K() DataSet {
	return DataSet{
		Name: "movielens-100k", Data: job.Data{Kind: job.KindMovieLens, Path: "movielens-100k/u.data"},
		obtain: "u.data of MovieLens 100K (grouplens.org), with u.user and u.item beside it",
	}
}

// MovieLens1M returns interactions of MovieLens 1M, each followed by a film that the user has not rated:
// 1,988,338 training rows and 12,080 test rows, the last interaction of every user, with 6 columns of ids.
func MovieLens1M() DataSet {
	return DataSet{
		Name: "movielens-1m",
		Data: job.Data{
			Kind: job.KindMovieLensImplicit, Train: "movielens-1m-implicit/train.csv.gz",
			Test:      "movielens-1m-implicit/test.csv",
			Negatives: job.NegativeSampling{PerPositive: 1},
		},
		obtain: "interactions of MovieLens 1M in the layout of the model ENSFM in PaddleRec",
	}
}

// realSets returns all real data sets: the one in this module, then those that need files.
func realSets() []DataSet {
	return []DataSet{
		AdultIncome(), Frappe(), Avazu(), CriteoHead(), CriteoIndexed(), IJCAI18(), TalkingData(),
		MovieLens100K(), MovieLens1M(), OpenBandit(), TaobaoAd(),
	}
}

// OfJob returns the data set of a job file.
func OfJob(data job.Data) DataSet {
	d := DataSet{Name: string(data.Kind), Data: data, obtain: "data of kind " + string(data.Kind)}
	at := slices.IndexFunc(realSets(), func(known DataSet) bool {
		return known.Data.Kind == data.Kind && data.CSV == nil // which describes any file
	})
	if at >= 0 && realSets()[at].obtain != "" {
		d.obtain += ", for example " + realSets()[at].obtain
	}
	return d
}

// File returns a data set of a file whose description is left to the experiment. obtain says what the file
// has.
func File(name, path, obtain string) DataSet {
	return DataSet{Name: name, Data: job.Data{Path: path}, obtain: obtain}
}

// Present returns the data sets whose files are in a data folder, which may be empty, and a note for each of
// the others: what to get and where to put it.
func Present[S interface{ Check(folder string) error }](sets []S, folder string) (
	present []S, notes []string,
) {
	for _, d := range sets {
		err := d.Check(folder)
		if err == nil {
			present = append(present, d)
			continue
		}
		note := fmt.Sprintf("Not measured: %v", err)
		if e, ok := errors.AsType[*cli.Error](err); ok {
			note += "; " + e.Hint
		}
		notes = append(notes, note+".")
	}
	return present, notes
}

// Absent returns the notes of Present on the data sets that were not measured.
func Absent[S interface{ Check(folder string) error }](
	sets []S, folder string, measured func(S) bool,
) []string {
	_, notes := Present(slices.DeleteFunc(slices.Clone(sets), measured), folder)
	return notes
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
				Hint: "give --data-folder or set TANDEM_DATA; the file has " + d.obtain,
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
