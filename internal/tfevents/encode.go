package tfevents

import (
	"encoding/binary"
	"math"
)

// The numbers of the fields of the messages Event, Summary, Summary.Value and HistogramProto of TensorFlow.
const (
	eventWallTime    = 1 // double, s since 1970
	eventStep        = 2 // int64
	eventFileVersion = 3 // string
	eventSummary     = 5 // Summary

	summaryValue = 1 // repeated Value

	valueTag       = 1 // string
	valueSimple    = 2 // float
	valueHistogram = 5 // HistogramProto

	histogramMin     = 1 // double, as the next four
	histogramMax     = 2
	histogramNum     = 3
	histogramSum     = 4
	histogramSquares = 5
	histogramLimits  = 6 // packed doubles: the upper ends of the buckets
	histogramBuckets = 7 // packed doubles: their counts
)

// The wire types of protocol buffers that occur here.
const (
	varint  = 0
	fixed64 = 1
	length  = 2 // delimited
	fixed32 = 5
)

func appendKey(to []byte, field, wireType int) []byte {
	return binary.AppendUvarint(to, uint64(field<<3|wireType))
}

func appendBytes(to []byte, field int, content []byte) []byte {
	to = binary.AppendUvarint(appendKey(to, field, length), uint64(len(content)))
	return append(to, content...)
}

func appendText(to []byte, field int, text string) []byte {
	return appendBytes(to, field, []byte(text))
}

func appendDouble(to []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(to, math.Float64bits(x))
}
