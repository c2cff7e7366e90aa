package main

import (
	"slices"

	"tandem/internal/cli"
)

// legend explains the columns of the table of runs that have values.
func (r *report) legend(t cli.Table) string {
	has := func(column string) bool { return t.HasValues(slices.Index(t.Header, column)) }
	text, between := "Log loss is in nats.", " "
	if r.ConstantRMSE > 0 {
		text, between = "RMSE is"+r.unit()+", and R² a share.", "\n"
	}
	if !has("own") && !has("row") && !has("shard") {
		return text + "\n"
	}
	text += between + "Staleness is the mean / the maximum of:\n"
	if has("own") {
		text += `  own, cross  the earlier batches of a rank itself, or of another rank, that
              a read from an embedding PS missed
`
	}
	switch {
	case has("shard"):
		text += `  row, shard  the updates of a row, or of a shard of a dense PS, between a read
              and its gradient
`
	case has("row"):
		text += "  row         the updates of a row between a read and its gradient\n"
	}
	return text
}
