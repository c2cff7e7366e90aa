package datasets

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
	"tandem/internal/parallel"
)

// format is how the files of a kind are read.
type format struct {
	decode.Format // of text; without Lines and Table for Parquet
	// What the rows of a file depend on besides its content: the kind, the description of
	// the columns, and the files with these names in the same folder.
	kind   job.DataKind
	table  *job.Table
	beside []string
}

// formatOf returns the format of a kind that reads files.
func formatOf(data *job.Data) format {
	f := format{Format: textFormat(data), kind: data.Format(), table: data.CSV}
	switch data.Format() {
	case job.KindParquet:
		f.table = data.Parquet
	case job.KindMovieLens:
		f.beside = []string{"u.user", "u.item"}
	}
	setWeightScales(data.Slots, &f.Schema)
	return f
}

// setWeightScales sets the scales of slots whose ids have weights, which decide what weights can be used.
func setWeightScales(settings []job.SlotSetting, schema *batch.Schema) {
	for i := range schema.Slots {
		slot := &schema.Slots[i]
		for k := range settings {
			if slot.Weighted && settings[k].Slot == slot.Name {
				slot.Scale = settings[k].Scale()
			}
		}
	}
}

// checkWeights returns rows of a Parquet file that are bad, from one that is the first of the file's rows,
// together with those whose weights of ids cannot be used in their slots.
func (f *format) checkWeights(b *batch.Batch, bad []*decode.BadRow, first int) []*decode.BadRow {
	for s := range f.Schema.Slots {
		slot := &f.Schema.Slots[s]
		for row := 0; slot.Weighted && row < b.Samples; row++ {
			weights := b.Slots[s].SampleWeights(row)
			if err := slot.CheckWeights(weights); err != nil {
				bad = append(bad, &decode.BadRow{Line: first + row + 1, Column: slot.Name,
					Value: fmt.Sprint(weights), Reason: err.Error()})
			}
		}
	}
	slices.SortStableFunc(bad, func(x, y *decode.BadRow) int { return x.Line - y.Line })
	return slices.CompactFunc(bad, func(x, y *decode.BadRow) bool { return x.Line == y.Line })
}

// textFormat returns how the text of a kind is decoded.
func textFormat(data *job.Data) decode.Format {
	switch data.Format() {
	case job.KindCriteo:
		return lineByLine(criteoSchema(), newCriteoDecoder().decode)
	case job.KindLibFM:
		return lineByLine(libfmSchema(), decodeLibFM)
	case job.KindAvazu:
		return decode.Format{Schema: avazuSchema(),
			Table: &decode.Table{Delimiter: ",", NewDecoder: newAvazuDecoder}}
	case job.KindTaobaoAd:
		return decode.Format{Schema: taobaoSchema(), Table: taobaoTable()}
	case job.KindIJCAI18:
		return decode.Format{Schema: ijcai18Schema(), Table: csvTable(ijcai18Columns())}
	case job.KindMovieLens:
		return decode.Format{Schema: movieLensSchema(), Lines: newMovieLensDecoder}
	case job.KindMovieLensImplicit:
		return lineByLine(implicitSchema(), decodeImplicit)
	case job.KindParquet:
		return decode.Format{Schema: tableSchema(data.Parquet)}
	default:
		return csvFormat(data.CSV)
	}
}

// lineByLine is the format of files whose lines can be decoded without any other file.
func lineByLine(schema batch.Schema, decodeLine decode.LineDecoder) decode.Format {
	return decode.Format{Schema: schema,
		Lines: func(string) (decode.LineDecoder, error) { return decodeLine, nil }}
}

// readText reads the rows of an input, which it does not close. Dense values are not
// standardised.
func (f format) readText(in *input.Input, dropped *droppedRows) (*batch.Batch, error) {
	return f.readBlocks(in, dropped, parallel.Cores(), decode.BlockBytes)
}

// readBlocks is readText on a number of goroutines and in blocks of a number of bytes.
func (f format) readBlocks(in *input.Input, dropped *droppedRows, workers, blockBytes int) (*batch.Batch,
	error) {
	rows, err := f.Read(in, dropped.skip(in.Name), workers, blockBytes)
	if err == nil && rows.Samples == 0 {
		err = noRows(in.Name, dropped)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// readFile reads a file that a job names.
func (f format) readFile(dataDir, path string, dropped *droppedRows, cache *columnCache) (*batch.Batch,
	error) {
	path, err := locate(dataDir, path)
	if err != nil {
		return nil, err
	}
	return f.readPath(path, dropped, cache)
}

// readPath reads a file, or its cached columns.
func (f format) readPath(path string, dropped *droppedRows, cache *columnCache) (*batch.Batch, error) {
	return cache.read(&f, path, dropped, func() (*batch.Batch, error) {
		if f.kind == job.KindParquet {
			return f.readParquet(path, dropped)
		}
		in, err := input.Open(path)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		return f.readText(in, dropped)
	})
}
