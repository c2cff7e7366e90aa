package datasets

import (
	"errors"
	"fmt"
	"slices"

	"tandem/datasets/synth"
)

// Kind names a data set or a file format.
type Kind string

// The kinds that Open knows.
const (
	AdultIncome Kind = "adult-income" // UCI Adult, part of this module
	Criteo      Kind = "criteo"       // Criteo click logs: see Config.Path
	LibFM       Kind = "libfm"        // sparse lines of libfm or libsvm
	CSV         Kind = "csv"          // delimited text as Config.CSV says
	Parquet     Kind = "parquet"      // Parquet files with the columns that Config.Parquet names
	Synthetic   Kind = "synthetic"    // generated from Config.Synthetic

	Avazu             Kind = "avazu"              // Avazu click log, with or without date and device_ip
	TaobaoAd          Kind = "taobao-ad"          // Taobao display ads with behaviour sequences, DMR's layout
	IJCAI18           Kind = "ijcai18"            // search-ad conversions of the IJCAI-18 contest
	MovieLens         Kind = "movielens"          // ratings of MovieLens 100K: u.data, with u.user and u.item beside it
	MovieLensImplicit Kind = "movielens-implicit" // interactions of MovieLens 1M: see Config.Negatives
)

// Kinds returns all kinds that Open knows.
func Kinds() []Kind {
	return []Kind{
		AdultIncome, Criteo, LibFM, CSV, Parquet, Synthetic, Avazu, TaobaoAd, IJCAI18, MovieLens, MovieLensImplicit,
	}
}

// Config says which data set to open. The zero value is refused; the smallest
// useful one is Config{Kind: AdultIncome}.
type Config struct {
	Kind Kind `yaml:"kind"`
	// Path is a single file, of which Split takes the test rows. Files may be
	// plain, gzip or zstd; the first bytes decide, not the name.
	Path string `yaml:"path,omitempty"`
	// Train and Test are two files, instead of Path.
	Train string `yaml:"train,omitempty"`
	Test  string `yaml:"test,omitempty"`
	// Split says which rows of Path are for testing; default: the last fifth.
	Split Split `yaml:"split,omitempty"`
	// OnBadRow is "fail", the default, or for example "skip:100".
	OnBadRow OnBadRow `yaml:"on-bad-row,omitempty"`
	// Cache is the folder in which the columns of files are kept when they are
	// first read, so that they need not be parsed again; "off" for none. Empty: that
	// of CacheFolder, for files of 8 MiB and more.
	Cache string `yaml:"cache,omitempty"`
	// CSV says what the columns mean; for kind csv only.
	CSV *CSVSpec `yaml:"csv,omitempty"`
	// Parquet names the columns, as CSV does those of text, but without delimiter,
	// comment, columns and separators, which the file knows itself; for kind parquet
	// only. Id columns hold text, whole numbers, booleans or lists of them, numeric
	// and label columns any values of one a row, decimals excepted. Dates and times
	// are the whole numbers that the file has. A null is what an empty field is in
	// text.
	Parquet *CSVSpec `yaml:"parquet,omitempty"`
	// Synthetic says what to generate; for kind synthetic only.
	Synthetic *synth.Spec `yaml:"synthetic,omitempty"`
	// Slots says how ids become rows in the slots that it names; the others sum
	// one row an id, which no other slot uses.
	Slots []SlotSetting `yaml:"slots,omitempty"`
	// Negatives says how to make rows of label 0; for kind movielens-implicit
	// only, which has none.
	Negatives NegativeSampling `yaml:"negatives,omitempty"`
}

// Validate checks every field and names the path of the one at fault. It does
// not look at files.
func (c *Config) Validate() error {
	if !slices.Contains(Kinds(), c.Kind) {
		return fmt.Errorf("kind: %q: must be one of %q", c.Kind, Kinds())
	}
	if c.OnBadRow.Skip < 0 {
		return fmt.Errorf("on-bad-row: skip:%d: must not be negative", c.OnBadRow.Skip)
	}
	if err := validateCache(c.Cache); err != nil {
		return err
	}
	if err := c.validateFiles(); err != nil {
		return err
	}
	if (c.CSV != nil) != (c.Kind == CSV) {
		return fmt.Errorf("csv: must be given for kind %q and for no other, here %q", CSV, c.Kind)
	}
	if c.CSV != nil {
		if err := c.CSV.Validate(); err != nil {
			return fmt.Errorf("csv.%w", err)
		}
	}
	if (c.Parquet != nil) != (c.Kind == Parquet) {
		return fmt.Errorf("parquet: must be given for kind %q and for no other, here %q", Parquet, c.Kind)
	}
	if c.Parquet != nil {
		if err := validateParquet(c.Parquet); err != nil {
			return fmt.Errorf("parquet.%w", err)
		}
	}
	if (c.Synthetic != nil) != (c.Kind == Synthetic) {
		return fmt.Errorf("synthetic: must be given for kind %q and for no other, here %q", Synthetic, c.Kind)
	}
	if c.Synthetic != nil {
		if err := c.Synthetic.Validate(); err != nil {
			return fmt.Errorf("synthetic.%w", err)
		}
	}
	if err := validateSlots(c.Slots); err != nil {
		return err
	}
	if c.Kind != MovieLensImplicit && c.Negatives != (NegativeSampling{}) {
		return fmt.Errorf("negatives: only used with kind %q, here %q", MovieLensImplicit, c.Kind)
	}
	if err := c.Negatives.Validate(); err != nil {
		return fmt.Errorf("negatives.%w", err)
	}
	return nil
}

func (c *Config) validateFiles() error {
	isFile := c.Kind != AdultIncome && c.Kind != Synthetic
	switch {
	case !isFile && (c.Path != "" || c.Train != "" || c.Test != ""):
		return fmt.Errorf("path, train, test: kind %q reads no files: leave them out", c.Kind)
	case !isFile && c.Split != (Split{}):
		return fmt.Errorf("split: kind %q has test rows of its own: leave it out", c.Kind)
	case !isFile:
		return nil
	case c.Path != "" && c.Kind == MovieLensImplicit:
		return fmt.Errorf("path: kind %q needs train and test: its negatives depend on which is which", c.Kind)
	case c.Path != "" && (c.Train != "" || c.Test != ""):
		return errors.New("path: give either path, or train and test")
	case c.Path != "":
		if err := c.Split.Validate(); err != nil {
			return fmt.Errorf("split.%w", err)
		}
		return nil
	case c.Train == "" || c.Test == "":
		return fmt.Errorf("path: empty: kind %q needs path, or both train and test", c.Kind)
	case c.Split != (Split{}):
		return errors.New("split: only used with path, which has no test rows of its own")
	}
	return nil
}
