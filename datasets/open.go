package datasets

import (
	"fmt"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/adult"
	"tandem/datasets/synth"
)

// Open reads or generates a data set. Relative paths of the config are taken
// from dataDir, the value of TANDEM_DATA, which this package does not read
// itself; without one they are refused.
//
// Errors are one line with the file, and for a bad row (BadRowError) its line,
// column and value. Errors wrap fs.ErrNotExist, ErrNoRows or ErrBadRow where
// these apply.
//
// Memory: the rows as batch.Batch, once; twice while splitting at random.
func Open(cfg job.Data, dataDir string) (*Dataset, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	data, err := open(&cfg, dataDir)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	if err := ApplySlots(cfg.Slots, &data.Schema); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	data.Name = string(cfg.Kind)
	return data, nil
}

func open(cfg *job.Data, dataDir string) (*Dataset, error) {
	switch cfg.Kind {
	case job.KindSynthetic:
		return generate(cfg.Synthetic)
	case job.KindAdultIncome:
		return openAdult(cfg)
	}
	if cfg.Path != "" {
		return openSplit(cfg, dataDir)
	}
	return openPair(cfg, dataDir)
}

func generate(spec *job.Synthetic) (*Dataset, error) {
	made, err := synth.Generate(*spec)
	if err != nil {
		return nil, err
	}
	schema := newSchema(made.Columns, made.Numeric, made.Labels...)
	scaling := make([]Scaling, len(schema.Dense))
	for i := range scaling {
		scaling[i] = Scaling{Std: 1} // drawn standardised
	}
	return &Dataset{
		Schema: schema, Train: made.Train, Test: made.Test, Scaling: scaling,
		TestProbability: made.TestProbability,
		Provenance:      fmt.Sprintf("generated with seed %d", spec.Seed),
	}, nil
}

func openAdult(cfg *job.Data) (*Dataset, error) {
	f := csvFormat(adultSpec())
	dropped := &droppedRows{policy: cfg.OnBadRow}
	var parts [2]*batch.Batch
	for i, file := range []struct{ name, text string }{
		{"adult.data.gz", adult.Train()}, {"adult.test.gz", adult.Test()},
	} {
		in, err := newInput(file.name, strings.NewReader(file.text))
		if err != nil {
			return nil, err
		}
		if parts[i], err = f.read(in, dropped); err != nil {
			return nil, err
		}
	}
	return finish(&Dataset{
		Schema: f.schema, Train: parts[0], Test: parts[1],
		Provenance: adult.Citation, DroppedRows: dropped.count, BadRows: dropped.first,
	}), nil
}

// openSplit opens a data set of one file.
func openSplit(cfg *job.Data, dataDir string) (*Dataset, error) {
	f, dropped, keep := formatOf(cfg), &droppedRows{policy: cfg.OnBadRow}, newKeeper(cfg.Cache)
	all, err := f.readFile(dataDir, cfg.Path, dropped, keep)
	if err != nil {
		return nil, err
	}
	data := &Dataset{Schema: f.schema, DroppedRows: dropped.count, BadRows: dropped.first, Provenance: "file " + cfg.Path, Notes: keep.notes}
	if cfg.Kind == job.KindLibFM {
		data.Schema = libfmByField(f.schema, all)
	}
	if data.Train, data.Test, err = splitRows(cfg.Split, all); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Path, err)
	}
	return finish(data), nil
}

// openPair opens a data set of a train and a test file.
func openPair(cfg *job.Data, dataDir string) (*Dataset, error) {
	f, dropped, keep := formatOf(cfg), &droppedRows{policy: cfg.OnBadRow}, newKeeper(cfg.Cache)
	train, err := f.readFile(dataDir, cfg.Train, dropped, keep)
	if err != nil {
		return nil, err
	}
	test, err := f.readFile(dataDir, cfg.Test, dropped, keep)
	if err != nil {
		return nil, err
	}
	if cfg.Kind == job.KindMovieLensImplicit {
		if train, test, err = withNegatives(cfg.Negatives, train, test); err != nil {
			return nil, fmt.Errorf("%s: %w", cfg.Train, err)
		}
	}
	data := &Dataset{
		Schema: f.schema, Train: train, Test: test, DroppedRows: dropped.count, BadRows: dropped.first,
		Provenance: fmt.Sprintf("files %s (train), %s (test)", cfg.Train, cfg.Test), Notes: keep.notes,
	}
	if cfg.Kind == job.KindLibFM {
		data.Schema = libfmByField(f.schema, train, test)
	}
	return finish(data), nil
}

// finish standardises the numeric columns of freshly read rows.
func finish(data *Dataset) *Dataset {
	data.Scaling = measureScaling(data.Train, len(data.Schema.Dense))
	standardise(data.Train, data.Scaling)
	standardise(data.Test, data.Scaling)
	return data
}

// formatOf returns the format of a kind that reads files.
func formatOf(cfg *job.Data) format {
	f := layoutOf(cfg)
	f.kind, f.spec = cfg.Kind, cfg.CSV
	if cfg.Kind == job.KindParquet {
		f.spec = cfg.Parquet
	}
	return f
}

func layoutOf(cfg *job.Data) format {
	switch cfg.Kind {
	case job.KindCriteo:
		return lineByLine(criteoSchema(), newCriteoDecoder().decode)
	case job.KindLibFM:
		return lineByLine(libfmSchema(), libfmLine)
	case job.KindAvazu:
		return format{schema: avazuSchema(), table: &table{delimiter: ",", decoder: newAvazuDecoder}}
	case job.KindTaobaoAd:
		return format{schema: taobaoSchema(), table: taobaoTable()}
	case job.KindIJCAI18:
		return format{schema: ijcai18Schema(), table: csvTable(ijcai18Spec())}
	case job.KindMovieLens:
		return format{schema: movieLensSchema(), lines: newMovieLensDecoder, beside: []string{"u.user", "u.item"}}
	case job.KindMovieLensImplicit:
		return lineByLine(implicitSchema(), implicitLine)
	case job.KindParquet:
		return format{schema: tableSchema(cfg.Parquet), parquet: true}
	default:
		return csvFormat(cfg.CSV)
	}
}

func csvFormat(spec *job.Table) format {
	return format{schema: tableSchema(spec), table: csvTable(spec)}
}

// lineByLine is the format of files of which each can be decoded alone.
func lineByLine(schema batch.Schema, decode lineDecoder) format {
	return format{schema: schema, lines: func(string) (lineDecoder, error) { return decode, nil }}
}

func (f format) readFile(dataDir, path string, dropped *droppedRows, keep *keeper) (*batch.Batch, error) {
	path, err := locate(dataDir, path)
	if err != nil {
		return nil, err
	}
	return f.readPath(path, dropped, keep)
}

// readPath reads a file, or finds what was kept of it.
func (f format) readPath(path string, dropped *droppedRows, keep *keeper) (*batch.Batch, error) {
	return keep.read(&f, path, dropped, func() (*batch.Batch, error) {
		if f.parquet {
			return f.readParquetFile(path, dropped)
		}
		in, err := openInput(path)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		return f.read(in, dropped)
	})
}
