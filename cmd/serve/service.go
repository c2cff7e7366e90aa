package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/runtime/checkpoint"
	"tandem/runtime/inference"
)

// service answers requests for predictions of all protocols.
type service struct {
	live    *inference.Live
	name    string
	rowsMax int
	timeMax time.Duration
	slots   chan struct{} // has an item for each request for predictions that is read or answered
	counts  counts
	say     func(line string)
	failing atomic.Value // the checksum of the model of which say has been told that it fails
}

// enter begins a request: it returns what ends it, or errCrowded if there are too many.
func (s *service) enter() (leave func(), err error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	default:
		return nil, refuse(errCrowded, "%d requests are under way, the limit of this server "+
			"(--max-concurrent)", cap(s.slots))
	}
}

// column is an input or output of the model.
type column struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"` // −1: the number of rows
}

// description is what clients may know of the model.
type description struct {
	Name     string   `json:"name"`
	Versions []string `json:"versions"`
	Platform string   `json:"platform"`
	Inputs   []column `json:"inputs"`
	Outputs  []column `json:"outputs"`
}

// request is a request for predictions.
type request struct {
	model, version string // an empty version is any
	inputs         []tensor
	outputs        []string // that it asks for; none: all
}

// answer is what a request has as a result.
type answer struct {
	version     string
	predictions []float32
	labels      int // predictions of a row
}

// output is the name of the tensor of predictions.
const output = "prediction"

// The causes of refusals. Each protocol has a status for each.
var (
	errInvalid  = errors.New("invalid request")
	errUnknown  = errors.New("unknown model")
	errTooLarge = errors.New("request too large")
	errEnding   = errors.New("the server is ending")
	errCrowded  = errors.New("too many requests")
	errSlow     = errors.New("the request takes too long")
)

// refusal is an error whose cause is one of those above, and whose text is that of the client.
type refusal struct{ cause, text error }

func (r *refusal) Error() string   { return r.text.Error() }
func (r *refusal) Unwrap() []error { return []error{r.cause, r.text} }

func refuse(cause error, format string, args ...any) error {
	return &refusal{cause, fmt.Errorf(format, args...)}
}

// check returns an error if a model cannot be served.
func check(m *inference.Model) error {
	if m.Data().Table() == nil {
		return fmt.Errorf("model %s: trained on data of kind %s, and only models of kinds %s and %s can be "+
			"served: write its data with cmd/data convert, and train on those", m.Folder(), m.Data().Kind,
			job.KindCSV, job.KindParquet)
	}
	return nil
}

// versionOf returns the only version of a model: the number of its training steps.
func versionOf(m *inference.Model) string { return strconv.Itoa(m.Steps()) }

// columnsOf returns the inputs of a model, ids first, as in its table.
func columnsOf(m *inference.Model) (all []column) {
	for _, slot := range m.Data().Table().Slots {
		all = append(all, column{slot.Column, datatypeBytes, []int64{-1, 1}})
		if slot.Weights != "" {
			all = append(all, column{slot.Weights, datatypeBytes, []int64{-1, 1}})
		}
	}
	for _, number := range m.Data().Table().Numeric {
		all = append(all, column{number, datatypeFP32, []int64{-1, 1}})
	}
	return all
}

// acquire returns the current model if it has the name and the version. It must be released.
func (s *service) acquire(name, version string) (*inference.Lease, error) {
	if name != s.name {
		return nil, refuse(errUnknown, "model %q is unknown; this server has %q", name, s.name)
	}
	m := s.live.Acquire()
	if m == nil {
		return nil, errEnding
	}
	if now := versionOf(m.Model); version != "" && version != now {
		m.Release()
		return nil, refuse(errUnknown, "version %q is unknown; this server has %q", version, now)
	}
	return m, nil
}

// describe describes the model of a name and a version.
func (s *service) describe(name, version string) (*description, error) {
	m, err := s.acquire(name, version)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	return &description{Name: s.name, Versions: []string{versionOf(m.Model)}, Platform: "tandem",
		Inputs:  columnsOf(m.Model),
		Outputs: []column{{output, datatypeFP32, []int64{-1, int64(len(m.Labels()))}}}}, nil
}

// infer predicts the rows of a request.
func (s *service) infer(ctx context.Context, q *request) (*answer, error) {
	m, err := s.acquire(q.model, q.version)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	for _, name := range q.outputs {
		if name != output {
			return nil, refuse(errInvalid, "output %q is unknown: the model has %q", name, output)
		}
	}
	in, err := features(m.Data().Table(), q.inputs, s.rowsMax)
	if err != nil {
		return nil, &refusal{errInvalid, err}
	}
	rows, err := datasets.FeatureRows(m.Data(), m.Scaling(), in)
	if err != nil {
		return nil, &refusal{errInvalid, err}
	}
	predictions, err := m.Queue.Predict(ctx, rows)
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(ctx), errSlow) {
		err = refuse(errSlow, "the request took longer than %v, the limit of this server (--max-time)",
			s.timeMax)
	}
	if damaged := new(checkpoint.DamagedRow); errors.As(err, &damaged) {
		if s.failing.Swap(m.Checksum()) != m.Checksum() {
			s.say(fmt.Sprintf("requests for some rows fail: %v; put an intact copy of the model in its "+
				"place and start the server again", err))
		}
		err = damaged.Err // clients need not know the folder
	}
	if err != nil {
		return nil, err
	}
	return &answer{version: versionOf(m.Model), predictions: predictions, labels: len(m.Labels())}, nil
}

// features returns the values of each column of a table, of at most a number of rows.
func features(table *job.Table, inputs []tensor, rowsMax int) (in datasets.Features, err error) {
	if err := checkNames(table, inputs); err != nil {
		return in, err
	}
	c := &inputReader{inputs: inputs, rows: -1, rowsMax: rowsMax}
	for _, slot := range table.Slots {
		texts, err := read(c, slot.Column, func(t *tensor, n int) ([]string, error) {
			return t.ids(n, slot.Whole)
		})
		var weights []string
		if err == nil && slot.Weights != "" {
			weights, err = read(c, slot.Weights, func(t *tensor, n int) ([]string, error) {
				return t.ids(n, true) // the text of a field, or a number
			})
		}
		if err != nil {
			return in, err
		}
		in.IDs, in.Weights = append(in.IDs, texts), append(in.Weights, weights)
	}
	for _, name := range table.Numeric {
		values, err := read(c, name, (*tensor).numbers)
		if err == nil && len(table.Missing) == 0 && slices.ContainsFunc(values, isNaN) {
			err = fmt.Errorf("input %q: a number is missing, and the training data had no missing numbers",
				name)
		}
		if err != nil {
			return in, err
		}
		in.Numbers = append(in.Numbers, values)
	}
	return in, nil
}

// inputReader reads inputs that have the same number of rows.
type inputReader struct {
	inputs        []tensor
	rows, rowsMax int // rows is −1 before the first input
}

// read returns the values of the input of a column.
func read[T any](c *inputReader, name string, values func(*tensor, int) ([]T, error)) (all []T,
	err error) {
	at := slices.IndexFunc(c.inputs, func(t tensor) bool { return t.name == name })
	if at < 0 {
		return nil, fmt.Errorf("input %q is missing", name)
	}
	n, err := c.inputs[at].rows()
	switch {
	case err != nil:
	case c.rows >= 0 && n != c.rows:
		err = fmt.Errorf("%d rows, and the inputs before have %d", n, c.rows)
	case n > c.rowsMax:
		err = fmt.Errorf("%d rows, and a request may have %d (--max-rows)", n, c.rowsMax)
	default:
		c.rows = n
		all, err = values(&c.inputs[at], n)
	}
	if err != nil {
		return nil, fmt.Errorf("input %q: %w", name, err)
	}
	return all, nil
}

// checkNames returns an error if an input is no column, or comes twice.
func checkNames(table *job.Table, inputs []tensor) error {
	for i := range inputs {
		name := inputs[i].name
		if !slices.Contains(table.Numeric, name) &&
			!slices.ContainsFunc(table.Slots, func(slot job.IDColumn) bool {
				return slot.Column == name || slot.Weights == name // the name is not empty
			}) {
			return fmt.Errorf("input %q is no column of the model: it has %q", name,
				slices.Concat(table.SlotNames(), table.WeightColumns(), table.Numeric))
		}
		if slices.ContainsFunc(inputs[:i], func(t tensor) bool { return t.name == name }) {
			return fmt.Errorf("input %q comes twice", name)
		}
	}
	return nil
}

func isNaN(x float32) bool { return x != x }
