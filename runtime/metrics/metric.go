package metrics

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Kind is what a metric does over time.
type Kind string

// The kinds of metric.
const (
	Counter Kind = "counter" // it only grows, until the process ends
	Gauge   Kind = "gauge"
	Summary Kind = "summary" // a sum and the number of its terms
)

// Metric is one metric. Names end in their unit; those of counters end in _total.
type Metric struct {
	Name string
	Kind Kind
	Help string // with the unit
}

// Snapshot holds values of metrics at one moment.
type Snapshot struct{ samples map[*Metric][]string }

// Add gives a metric a value. labels are names and values in turn. Values of a metric must differ in their
// labels.
func (s *Snapshot) Add(m *Metric, value float64, labels ...string) { s.add(m, "", value, labels) }

// AddSummary gives a summary its sum and its count.
func (s *Snapshot) AddSummary(m *Metric, sum float64, count uint64, labels ...string) {
	s.add(m, "_sum", sum, labels)
	s.add(m, "_count", float64(count), labels)
}

func (s *Snapshot) add(m *Metric, suffix string, value float64, labels []string) {
	if s.samples == nil {
		s.samples = map[*Metric][]string{}
	}
	var b strings.Builder
	b.WriteString(m.Name + suffix)
	for i := 0; i < len(labels); i += 2 {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		fmt.Fprintf(&b, `%s%s="%s"`, separator, labels[i], labelEscapes.Replace(labels[i+1]))
	}
	if len(labels) > 0 {
		b.WriteByte('}')
	}
	s.samples[m] = append(s.samples[m], b.String()+" "+number(value)+"\n")
}

var (
	labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// number writes a value as Prometheus reads it.
func number(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "+Inf"
	case math.IsInf(x, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// Write writes the metrics that have values in the text format of Prometheus, version 0.0.4.
func (s *Snapshot) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, m := range All() {
		samples := s.samples[m]
		if len(samples) == 0 {
			continue
		}
		fmt.Fprintf(b, "# HELP %s %s\n", m.Name, helpEscapes.Replace(m.Help))
		fmt.Fprintf(b, "# TYPE %s %s\n", m.Name, m.Kind)
		for _, line := range samples {
			b.WriteString(line)
		}
	}
	return b.Flush()
}
