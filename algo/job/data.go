package job

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// DataKind names a data set or a file format.
type DataKind string

// The kinds of data, which package datasets opens.
const (
	KindAdultIncome DataKind = "adult-income" // UCI Adult, part of package datasets
	KindCriteo      DataKind = "criteo"       // Criteo click logs: see Data.Path
	KindLibFM       DataKind = "libfm"        // sparse lines of libfm or libsvm
	KindCSV         DataKind = "csv"          // delimited text, described by Data.CSV
	KindParquet     DataKind = "parquet"      // Parquet files, described by Data.Parquet
	KindSynthetic   DataKind = "synthetic"    // generated from Data.Synthetic
	KindFollow      DataKind = "follow"       // files that arrive in a folder: see Data.Complete

	// Avazu click log, with or without date and device_ip
	KindAvazu DataKind = "avazu"
	// Taobao display ads with behaviour sequences, DMR's layout
	KindTaobaoAd DataKind = "taobao-ad"
	KindIJCAI18  DataKind = "ijcai18" // search-ad conversions of the IJCAI-18 contest
	// ratings of MovieLens 100K: u.data, with u.user and u.item beside it
	KindMovieLens         DataKind = "movielens"
	KindMovieLensImplicit DataKind = "movielens-implicit" // interactions of MovieLens 1M: see Data.Negatives
)

// DataKinds returns all kinds of data.
func DataKinds() []DataKind {
	return []DataKind{
		KindAdultIncome, KindCriteo, KindLibFM, KindCSV, KindParquet, KindSynthetic, KindAvazu, KindTaobaoAd,
		KindIJCAI18,
		KindMovieLens, KindMovieLensImplicit, KindFollow,
	}
}

// CacheOff is the Data.Cache that caches nothing.
const CacheOff = "off"

// columnsMax bounds the columns of one use: ids, numbers, labels.
const columnsMax = 10_000

// Data is the section data of a job file: the data set to train on. The zero value is
// invalid; the smallest valid one is Data{Kind: KindAdultIncome}.
type Data struct {
	// Kind is a data set that is built in, or the format of files.
	Kind DataKind `yaml:"kind"`
	// Path is a single file; Split chooses its test rows. For kind follow it is a folder. A file may be plain
	// text or compressed with gzip or zstd: its first bytes decide, not its name. It may be a URL:
	// file:///folder/clicks.csv or, in programs that import package datasets/blob, as
	// cmd/node, cmd/data and cmd/model do, s3://bucket/clicks.csv.
	Path string `yaml:"path,omitempty"`
	// Train and Test are two files and replace Path.
	Train string `yaml:"train,omitempty"`
	Test  string `yaml:"test,omitempty"`
	// Split chooses the test rows of Path; default: the last fifth of the file.
	Split Split `yaml:"split,omitempty"`
	// Stream leaves the rows of Path in the file: it is read once at first, and the rows of a
	// step again when they are trained on. The rows of compressed text and of Parquet files are
	// then kept, compressed, in a temporary file in the user's folder of caches. The test rows
	// are kept in memory. Rows are shuffled in windows (Training.ShuffleWindow; 0 stands for
	// 262,144 rows).
	Stream bool `yaml:"stream,omitempty"`
	// OnBadRow is "fail", the default, or a number of rows to skip, as "skip:100".
	OnBadRow OnBadRow `yaml:"on-bad-row,omitempty"`
	// Cache is the folder in which the decoded columns of files are cached, so that a
	// file is parsed only once; "off" disables the cache. Empty: the user's folder of
	// caches, for files of at least 8 MiB.
	Cache string `yaml:"cache,omitempty"`
	// Complete says when a file of kind follow is complete. renamed, the default: as soon as it has a name
	// that does not begin with a dot or an underscore and does not end in .tmp or .part, so that it must be
	// renamed when it is written. followed: as soon as there is a file with a later name. New files are
	// trained on in the order of their names, each once, and must not change. Their columns are described
	// by csv or by parquet.
	Complete string `yaml:"complete,omitempty"`
	// From is where the files of kind follow come from. Empty: other programs write them. "-" is rows of CSV
	// or JSON lines on standard input, and s3://bucket/folder/ objects as they appear there, without those of
	// folders within, in programs that import package datasets/blob. kafka://broker:9092/topic is the
	// messages of a topic, each an object of JSON, in programs that import package datasets/kafka. Rows are
	// kept in the folder of Path until a checkpoint has them.
	From string `yaml:"from,omitempty"`
	// Block says how standard input is cut into files.
	Block Block `yaml:"block,omitempty"`
	// CSV describes the columns, also of JSON lines, whose columns are the members of an object in each line;
	// for kinds csv and follow only.
	CSV *Table `yaml:"csv,omitempty"`
	// Parquet describes the columns; for kinds parquet and follow only. Delimiter, comment, columns
	// and separators must be empty, because a Parquet file defines them itself. An id
	// column holds text, whole numbers, booleans, or lists of these. Numeric and label
	// columns hold one value per row, of any type; decimals are no ids. Dates and times are read
	// as the whole numbers that the file stores. A null is read as an empty field of
	// text.
	Parquet *Table `yaml:"parquet,omitempty"`
	// Synthetic describes the rows to generate; for kind synthetic only.
	Synthetic *Synthetic `yaml:"synthetic,omitempty"`
	// Derived are further slots, whose ids follow from combinations of columns or from intervals of numbers.
	Derived []DerivedSlot `yaml:"derived,omitempty"`
	// Means are slots, derived ones too, that have a further numeric column each: the log odds of the mean of
	// the first label over the training rows with the id, less those of the mean m of all training rows.
	// 1/(m (1 − m)) rows of this mean are added to those of an id. The number of an unknown id is 0, as is
	// that of a rare one if there are more than 262,144 ids in all. The number of a training row is that of
	// the rows in the nine other tenths of the training rows, drawn by their positions, so its own label is
	// not in it. Of several ids a row has the mean of their numbers, and without an id 0.
	Means []string `yaml:"means,omitempty,flow"`
	// Slots holds settings of single slots. A slot without settings sums one row per id
	// and shares its rows with no other slot.
	Slots []SlotSetting `yaml:"slots,omitempty"`
	// Negatives describes the rows of label 0 to draw; for kind movielens-implicit only,
	// whose files have none.
	Negatives NegativeSampling `yaml:"negatives,omitempty"`
}

// Validate checks every field and returns an error that names the path of the first invalid
// one. It does not access files.
func (d *Data) Validate() error {
	if !slices.Contains(DataKinds(), d.Kind) {
		return fmt.Errorf("kind: %q: must be one of %q", d.Kind, DataKinds())
	}
	if d.OnBadRow.Skip < 0 {
		return fmt.Errorf("on-bad-row: skip:%d: must not be negative", d.OnBadRow.Skip)
	}
	if d.Cache != "" && d.Cache != CacheOff && !filepath.IsAbs(d.Cache) {
		return fmt.Errorf("cache: %q: must be %q or an absolute folder", d.Cache, CacheOff)
	}
	if err := d.validateURLs(); err != nil {
		return err
	}
	if err := d.validateFiles(); err != nil {
		return err
	}
	if err := d.validateStream(); err != nil {
		return err
	}
	if err := d.validateDescriptions(); err != nil {
		return err
	}
	if err := d.validateDerived(); err != nil {
		return err
	}
	if err := d.validateMeans(); err != nil {
		return err
	}
	if err := validateSlots(d.Slots); err != nil {
		return err
	}
	if err := d.validateWeights(); err != nil {
		return err
	}
	if d.Kind != KindMovieLensImplicit && d.Negatives != (NegativeSampling{}) {
		return fmt.Errorf("negatives: only used with kind %q, here %q", KindMovieLensImplicit, d.Kind)
	}
	if err := d.Negatives.Validate(); err != nil {
		return fmt.Errorf("negatives.%w", err)
	}
	return nil
}

// validateURLs refuses URLs with a key, as s3://KEY:SECRET@bucket/, because results show the job.
func (d *Data) validateURLs() error {
	for _, c := range []struct{ key, path string }{
		{"from", d.From}, {"path", d.Path}, {"train", d.Train}, {"test", d.Test},
	} {
		_, address, _ := strings.Cut(c.path, "://")
		bucket, _, _ := strings.Cut(address, "/")
		if IsURL(c.path) && strings.Contains(bucket, "@") {
			account := "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
			if strings.HasPrefix(c.path, "kafka") {
				account = "?sasl=… with TANDEM_KAFKA_USER and TANDEM_KAFKA_PASSWORD"
			}
			return fmt.Errorf("%s: a URL with a user or a key, which results would show: leave it out, and "+
				"set %s", c.key, account)
		}
	}
	return nil
}

// validateDescriptions checks the fields that describe the columns of single kinds.
func (d *Data) validateDescriptions() error {
	if d.Kind == KindFollow && (d.CSV != nil) == (d.Parquet != nil) {
		return fmt.Errorf("csv, parquet: kind %q needs one of them", d.Kind)
	}
	for _, c := range []struct {
		key      string
		kind     DataKind
		isGiven  bool
		validate func() error
	}{
		{"csv", KindCSV, d.CSV != nil, func() error { return d.CSV.Validate() }},
		{"parquet", KindParquet, d.Parquet != nil, func() error { return d.Parquet.validateParquet() }},
		{"synthetic", KindSynthetic, d.Synthetic != nil, func() error { return d.Synthetic.Validate() }},
	} {
		if c.isGiven != (d.Format() == c.kind) {
			return fmt.Errorf("%s: must be given for kind %q and for no other, here %q", c.key, c.kind,
				d.Kind)
		}
		if !c.isGiven {
			continue
		}
		if err := c.validate(); err != nil {
			return fmt.Errorf("%s.%w", c.key, err)
		}
	}
	return nil
}

func (d *Data) validateFiles() error {
	if d.Kind == KindFollow {
		return d.validateFollow()
	}
	if d.From != "" || d.Block != (Block{}) {
		return fmt.Errorf("from, block: only used with kind %q, here %q", KindFollow, d.Kind)
	}
	if d.Complete != "" {
		return fmt.Errorf("complete: only used with kind %q, here %q", KindFollow, d.Kind)
	}
	isFile := d.Kind != KindAdultIncome && d.Kind != KindSynthetic
	switch {
	case !isFile && (d.Path != "" || d.Train != "" || d.Test != ""):
		return fmt.Errorf("path, train, test: kind %q reads no files: leave them out", d.Kind)
	case !isFile && d.Split != (Split{}):
		return fmt.Errorf("split: kind %q has test rows of its own: leave it out", d.Kind)
	case !isFile:
		return nil
	case d.Path != "" && d.Kind == KindMovieLensImplicit:
		return fmt.Errorf("path: kind %q needs train and test: its negatives depend on which is which",
			d.Kind)
	case d.Path != "" && (d.Train != "" || d.Test != ""):
		return errors.New("path: give either path, or train and test")
	case d.Path != "":
		if err := d.Split.Validate(); err != nil {
			return fmt.Errorf("split.%w", err)
		}
		if d.Split.How == SplitTime && d.Kind != KindCSV {
			return fmt.Errorf("split.how: %q needs kind %q", SplitTime, KindCSV)
		}
		return nil
	case d.Train == "" || d.Test == "":
		return fmt.Errorf("path: empty: kind %q needs path, or both train and test", d.Kind)
	case d.Split != (Split{}):
		return errors.New("split: only used with path, which has no test rows of its own")
	}
	return nil
}

// streamed are the kinds whose rows can stay out of memory: those in which each row is decoded by
// itself.
func streamed() []DataKind {
	return []DataKind{KindCSV, KindParquet, KindCriteo, KindAvazu, KindTaobaoAd, KindIJCAI18}
}

func (d *Data) validateStream() error {
	switch {
	case d.Stream && !slices.Contains(streamed(), d.Kind):
		return fmt.Errorf("stream: not with kind %q: must be one of %q", d.Kind, streamed())
	case d.Stream && d.Path == "":
		return errors.New("stream: needs path, a single file; split chooses its test rows")
	case d.Stream && d.Split.How == SplitTime:
		return fmt.Errorf("split.how: %q: not with stream, which keeps the order of the file", SplitTime)
	case d.Stream && d.Cache != "" && d.Cache != CacheOff:
		return fmt.Errorf("cache: %q: not with stream, which keeps no columns", d.Cache)
	}
	return nil
}
