package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/sim/device"
	"tandem/sim/graph"
)

// ncclTable is what nccl-tests print of one collective.
type ncclTable struct {
	collective string
	gpus       int
	device     string // its name by the driver
	rows       []ncclRow
}

// ncclRow is a row of the table, out of place.
type ncclRow struct {
	bytes   unit.Bytes
	seconds float64
}

// What nccl-tests print: mpirun may put the rank before every line.
var (
	tagPattern  = regexp.MustCompile(`^\[[0-9]+,[0-9]+\]<std(?:out|err)>: ?`)
	rankPattern = regexp.MustCompile(`^#?\s*Rank\s+[0-9]+\s.*\bdevice\s+[0-9]+\s+\[[^\]]*\]\s+(.+)$`)
)

// ncclPrograms are the names of programs whose bus bandwidth is the same part of the other one, with the
// collectives. Their files are named by them, too.
var ncclPrograms = []struct{ name, collective string }{
	{"alltoall", graph.AllToAll}, {"reduce_scatter", graph.ReduceScatter}, {"all_gather", graph.AllGather},
}

// ncclColumns are the columns of times and rates at the end of a row: time, algbw, busbw and errors, out of
// place and in place.
const ncclColumns = 8

const ncclHint = "give what all_reduce_perf or alltoall_perf prints, with its lines about ranks and devices"

// readNCCL reads the text of nccl-tests.
func readNCCL(file string, text []byte) (*ncclTable, error) {
	bad := func(format string, args ...any) (*ncclTable, error) {
		what := fmt.Sprintf(format, args...)
		return nil, &cli.Error{Err: fmt.Errorf("--from: %s %s", file, what), Hint: ncclHint}
	}
	t := &ncclTable{}
	factor, reduces := 0.0, false
	name := filepath.Base(file)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(tagPattern.ReplaceAllString(line, ""))
		if found := rankPattern.FindStringSubmatch(line); found != nil {
			if device := strings.TrimSpace(found[1]); t.gpus == 0 {
				t.device = device
			} else if device != t.device {
				return bad("has ranks on %s and on %s; want one kind of GPU", t.device, device)
			}
			t.gpus++
			continue
		}
		if strings.Contains(line, "Collective test starting:") {
			name = line
		}
		row, busFactor, ok := ncclRowOf(line)
		if !ok {
			continue
		}
		reduces = strings.Contains(line, " sum ")
		factor = max(factor, busFactor)
		t.rows = append(t.rows, row)
	}
	switch {
	case len(t.rows) == 0:
		return bad("is neither JSON nor a table of nccl-tests")
	case t.gpus < 2:
		return bad("names %d ranks; want the lines about at least 2", t.gpus)
	case factor == 0:
		return bad("has no size with a bandwidth; measure larger ones")
	}
	// The bus bandwidth of an all-reduce is 2 (n − 1) ÷ n of the other one, that of all others (n − 1) ÷ n.
	n := float64(t.gpus)
	if math.Abs(factor/(2*(n-1)/n)-1) < ncclRounding {
		t.collective = graph.AllReduce
		return t, nil
	}
	for _, program := range ncclPrograms {
		if strings.Contains(name, program.name) {
			t.collective = program.collective
		}
	}
	switch {
	case math.Abs(factor/((n-1)/n)-1) > ncclRounding:
		return bad("has bus bandwidths %.3g times the others, which no collective of %d ranks has", factor,
			t.gpus)
	case t.collective == "" && reduces:
		t.collective = graph.ReduceScatter
	case t.collective == "":
		return bad("may be alltoall or all_gather; put its name into that of the file")
	}
	return t, nil
}

// ncclRounding is how far the ratio of printed rates of large messages may be off.
const ncclRounding = 0.02

// ncclRowOf reads a line of the table. BusFactor is the bus bandwidth divided by the other one, or 0 if these
// are too small to divide.
func ncclRowOf(line string) (row ncclRow, busFactor float64, ok bool) {
	cells := strings.Fields(line)
	if len(cells) < 3+ncclColumns {
		return row, 0, false
	}
	size, err := strconv.ParseInt(cells[0], 10, 64)
	if err != nil || size < 1 {
		return row, 0, false
	}
	var x [3]float64 // microseconds, GB/s, GB/s
	for i, cell := range cells[len(cells)-ncclColumns:][:3] {
		if x[i], err = strconv.ParseFloat(cell, 64); err != nil || !(x[i] >= 0) {
			return row, 0, false
		}
	}
	const precise = 10 // GB/s, of which 0.01 are rounded away
	if x[0] == 0 || x[1] > precise && math.Abs(float64(size)/x[0]/1e3/x[1]-1) > ncclRounding {
		return row, 0, false
	}
	if x[1] > precise {
		busFactor = x[2] / x[1]
	}
	return ncclRow{unit.Bytes(size), x[0] * 1e-6}, busFactor, true
}

// ncclSizes is the number of sizes of a table that count, evenly spaced among its rows. Their errors are
// alike, so more sizes would not say more.
const ncclSizes = 6

// ncclWider is the sigma of a collective relative to that of a step. Where NCCL changes its protocol or uses
// functions of a switch, its times are not on the smooth curve of the model.
const ncclWider = 2

// chosen returns the rows that count.
func (t *ncclTable) chosen() (rows []ncclRow) {
	slices.SortFunc(t.rows, func(a, b ncclRow) int { return cmp.Compare(a.bytes, b.bytes) })
	n := len(t.rows)
	for k := range min(n, ncclSizes) {
		rows = append(rows, t.rows[(k*(n-1)+(ncclSizes-1)/2)/max(1, min(n, ncclSizes)-1)])
	}
	return rows
}

// collectives returns the measured collectives of a text of nccl-tests.
func (t *fitting) collectives(path string, text []byte, given func(string) bool) (all []pending, err error) {
	table, err := readNCCL(path, text)
	if err != nil {
		return nil, err
	}
	s := &stepText{gpus: table.gpus}
	if !given("preset") && !given("accelerator") {
		if s.accelerator = device.AcceleratorOf(table.device); s.accelerator == "" {
			return nil, cli.UsageError("name them by --preset or --accelerator", "--from: %s has GPUs of no "+
				"built-in profile: %s", path, table.device)
		}
	}
	args, err := s.flagsOf(&t.flags, given)
	if err != nil {
		return nil, err
	}
	for _, row := range table.chosen() {
		name := fmt.Sprintf("%s of %v, %d GPUs", table.collective, row.bytes, table.gpus)
		all = append(all, pending{name: name, file: path, source: "--from", args: args, seconds: row.seconds,
			collective: table.collective, bytes: row.bytes, wider: ncclWider})
	}
	return all, nil
}

// isObject reports whether text is meant to be an object of JSON.
func isObject(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }
