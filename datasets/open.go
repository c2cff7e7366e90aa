package datasets

import (
	"fmt"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/adult"
	"tandem/datasets/internal/input"
	"tandem/datasets/synth"
)

// Open reads or generates a data set. Relative paths start in dataDir, the value of
// TANDEM_DATA, which this package does not read itself; if dataDir is empty, they are an
// error.
//
// An error is one line with the name of the file and, for a BadRowError, the line, the column
// and the value. Errors wrap fs.ErrNotExist, ErrNoRows or ErrBadRow where these apply.
//
// Memory: the rows as batch.Batch, once; twice during a random split.
func Open(data job.Data, dataDir string) (*Dataset, error) {
	if err := data.Validate(); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	set, err := open(&data, dataDir)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	if err := ApplySlots(data.Slots, &set.Schema); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	set.Name, set.LabelValues = string(data.Kind), data.LabelValues()
	return set, nil
}

func open(data *job.Data, dataDir string) (*Dataset, error) {
	switch data.Kind {
	case job.KindSynthetic:
		return generate(data.Synthetic)
	case job.KindAdultIncome:
		return openAdult(data)
	case job.KindFollow:
		return nil, fmt.Errorf("kind %q: the rows have not all arrived: cmd/train follows them", data.Kind)
	}
	if data.Stream {
		return streamFile(data, dataDir)
	}
	if data.Path != "" {
		return openSplit(data, dataDir)
	}
	return openPair(data, dataDir)
}

func generate(spec *job.Synthetic) (*Dataset, error) {
	made, err := synth.Generate(*spec)
	if err != nil {
		return nil, err
	}
	schema := newSchema(made.Columns, made.Numeric, made.Labels...)
	scaling := make([]batch.Scaling, len(schema.Dense))
	for i := range scaling {
		scaling[i] = batch.Scaling{Std: 1} // the numbers are drawn standardised
	}
	return &Dataset{
		Schema: schema, Train: made.Train, Test: made.Test, Rows: rowsOf(made.Rows), Scaling: scaling,
		TestProbability: made.TestProbability,
		Provenance:      fmt.Sprintf("generated with seed %d", spec.Seed),
	}, nil
}

func openAdult(data *job.Data) (*Dataset, error) {
	f := format{Format: csvFormat(adultColumns()), kind: data.Kind}
	dropped := &droppedRows{policy: data.OnBadRow}
	var parts [2]*batch.Batch
	for i, file := range []struct{ name, text string }{
		{"adult.data.gz", adult.Train()}, {"adult.test.gz", adult.Test()},
	} {
		in, err := input.New(file.name, strings.NewReader(file.text))
		if err != nil {
			return nil, err
		}
		if parts[i], err = f.readText(in, dropped); err != nil {
			return nil, err
		}
	}
	return finish(&Dataset{
		Schema: f.Schema, Train: parts[0], Test: parts[1],
		Provenance: adult.Citation, DroppedRows: dropped.count, BadRows: dropped.first,
	}, data)
}

// openSplit opens a data set of one file.
func openSplit(data *job.Data, dataDir string) (*Dataset, error) {
	f, dropped, cache := formatOf(data), &droppedRows{policy: data.OnBadRow}, newColumnCache(data.Cache)
	split := splitRows
	if data.Split.How == job.SplitTime {
		timed := *data
		timed.CSV, split = withTime(data.CSV, data.Split.Column), splitByTime
		f = formatOf(&timed)
	}
	all, err := f.readFile(dataDir, data.Path, dropped, cache)
	if err != nil {
		return nil, err
	}
	set := &Dataset{
		Schema: formatOf(data).Schema, DroppedRows: dropped.count, BadRows: dropped.first,
		Provenance: "file " + data.Path, Notes: append(cache.notes, unsplit(data, dataDir, data.Path)...),
		Latest: data.Split.How != job.SplitRandom,
	}
	if data.Kind == job.KindLibFM {
		set.Schema = splitFields(f.Schema, all)
	}
	if set.Train, set.Test, err = split(data.Split, all); err != nil {
		return nil, fmt.Errorf("%s: %w", data.Path, err)
	}
	return finish(set, data)
}

// openPair opens a data set of a train file and a test file.
func openPair(data *job.Data, dataDir string) (*Dataset, error) {
	f, dropped, cache := formatOf(data), &droppedRows{policy: data.OnBadRow}, newColumnCache(data.Cache)
	train, err := f.readFile(dataDir, data.Train, dropped, cache)
	if err != nil {
		return nil, err
	}
	test, err := f.readFile(dataDir, data.Test, dropped, cache)
	if err != nil {
		return nil, err
	}
	if data.Kind == job.KindMovieLensImplicit {
		if train, test, err = implicitNegatives(data.Negatives).Extend(train, test); err != nil {
			return nil, fmt.Errorf("%s: %w", data.Train, err)
		}
	}
	set := &Dataset{
		Schema: f.Schema, Train: train, Test: test, DroppedRows: dropped.count, BadRows: dropped.first,
		Provenance: fmt.Sprintf("files %s (train), %s (test)", data.Train, data.Test),
		Notes:      append(cache.notes, unsplit(data, dataDir, data.Train)...),
	}
	if data.Kind == job.KindLibFM {
		set.Schema = splitFields(f.Schema, train, test)
	}
	return finish(set, data)
}

// finish adds derived slots to rows that were just read, standardises their numeric columns, divides their
// weights by the mean of the training rows, and adds the columns of means.
func finish(data *Dataset, of *job.Data) (*Dataset, error) {
	d, err := newDerivation(of.Derived, &data.Schema)
	if err != nil {
		return nil, err
	}
	for _, rows := range []**batch.Batch{&data.Train, &data.Test} {
		if *rows, err = d.withSlots(*rows); err != nil {
			return nil, err
		}
	}
	sums := labelSumsOf(data.Train)
	if err := checkWeights(sums); err != nil {
		return nil, err
	}
	for _, rows := range []*batch.Batch{data.Train, data.Test} {
		scaleWeights(rows, sums[0].meanWeight())
	}
	data.Scaling = measureScaling(data.Train, len(data.Schema.Dense))
	standardise(data.Train, data.Scaling)
	standardise(data.Test, data.Scaling)
	if data.means, err = newMeanColumns(of.Means, &data.Schema); err != nil {
		return nil, err
	}
	data.measureMeans()
	return data, nil
}
