// Package tfevents writes event files that TensorBoard reads: scalars and histograms by tag and step.
//
// An event file is a sequence of TFRecords, each a message tensorflow.Event in the encoding of protocol
// buffers. Only the fields that TensorBoard needs are written, by hand: neither TensorFlow nor generated code
// is linked.
//
// Two messages take 150 lines. In a test, TensorBoard's own reader checks the files.
package tfevents

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"time"
)

// version is what the first event of every file says of the format.
const version = "brain.Event:2"

// Writer appends events to a file. It is not safe for concurrent use.
type Writer struct {
	file   io.WriteCloser
	buffer *bufio.Writer
	record []byte // of the latest event
}

// Create makes the event file of one training in a folder, and the folder if it does not exist. TensorBoard
// shows the files of different folders as different runs.
func Create(folder string, now time.Time) (*Writer, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	// TensorBoard takes files with "tfevents" in their names, in the order of the names.
	name := fmt.Sprintf("events.out.tfevents.%010d.%s", now.Unix(), host)
	file, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		return nil, err
	}
	w := newWriter(file)
	return w, w.event(now, 0, eventFileVersion, []byte(version))
}

func newWriter(file io.WriteCloser) *Writer {
	return &Writer{file: file, buffer: bufio.NewWriter(file)}
}

// Scalar is the value of a tag.
type Scalar struct {
	Tag   string
	Value float64
}

// Scalars writes the values of tags at a step. Values that are not numbers are written as such.
func (w *Writer) Scalars(now time.Time, step int, values ...Scalar) error {
	var summary []byte
	for _, v := range values {
		value := appendText(nil, valueTag, v.Tag)
		value = binary.LittleEndian.AppendUint32(appendKey(value, valueSimple, fixed32),
			math.Float32bits(float32(v.Value)))
		summary = appendBytes(summary, summaryValue, value)
	}
	return w.event(now, step, eventSummary, summary)
}

// Histogram writes how often each value of a tag has occurred, at a step. counts yields values in ascending
// order.
func (w *Writer) Histogram(now time.Time, step int, tag string, counts iter.Seq2[int, uint64]) error {
	var limits, buckets []byte
	least, most, number, sum, squares := math.Inf(1), math.Inf(-1), 0.0, 0.0, 0.0
	for value, count := range counts {
		x, n := float64(value), float64(count)
		least, most = min(least, x), max(most, x)
		number, sum, squares = number+n, sum+n*x, squares+n*x*x
		limits = appendDouble(limits, x+0.5) // a bucket ends half way to the next whole number
		buckets = appendDouble(buckets, n)
	}
	if number == 0 {
		return nil
	}
	var histogram []byte
	for field, x := range []float64{histogramMin: least, histogramMax: most, histogramNum: number,
		histogramSum: sum, histogramSquares: squares} {
		if field > 0 {
			histogram = appendDouble(appendKey(histogram, field, fixed64), x)
		}
	}
	histogram = appendBytes(histogram, histogramLimits, limits)
	histogram = appendBytes(histogram, histogramBuckets, buckets)
	value := appendBytes(appendText(nil, valueTag, tag), valueHistogram, histogram)
	return w.event(now, step, eventSummary, appendBytes(nil, summaryValue, value))
}

// event writes one event with one field besides its time and step.
func (w *Writer) event(now time.Time, step, field int, content []byte) error {
	w.record = appendDouble(appendKey(w.record[:0], eventWallTime, fixed64), float64(now.UnixNano())/1e9)
	w.record = binary.AppendUvarint(appendKey(w.record, eventStep, varint), uint64(step))
	w.record = appendBytes(w.record, field, content)
	return writeRecord(w.buffer, w.record)
}

// Flush makes what was written visible to readers of the file.
func (w *Writer) Flush() error { return w.buffer.Flush() }

// Close flushes and closes the file.
func (w *Writer) Close() error {
	err := w.buffer.Flush()
	if closed := w.file.Close(); err == nil {
		err = closed
	}
	return err
}

// writeRecord writes one TFRecord: the length of the data and its checksum, the data and their checksum.
func writeRecord(w io.Writer, data []byte) error {
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	head = binary.LittleEndian.AppendUint32(head, maskedChecksum(head))
	for _, part := range [][]byte{head, data, binary.LittleEndian.AppendUint32(nil, maskedChecksum(data))} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// castagnoli is the polynomial of the checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedChecksum returns the CRC32C of data, rotated and moved by a constant, as TFRecords keep it.
func maskedChecksum(data []byte) uint32 {
	const offset = 0xa282ead8
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + offset
}
