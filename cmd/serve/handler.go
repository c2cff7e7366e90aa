package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/inference"
)

// served is a model under a name.
type served struct {
	model   *inference.Model
	name    string
	table   *job.Table
	columns []column // ids first, as in the table
	counts  counts
}

// column is an input of the model.
type column struct {
	Name     string `json:"name"`
	Datatype string `json:"datatype"`
	Shape    []int  `json:"shape"` // −1: the number of rows
}

// output is the name of the tensor of predictions.
const output = "prediction"

func newModel(m *inference.Model, name string) (*served, error) {
	data := m.Data()
	if data.Kind != job.KindCSV {
		return nil, fmt.Errorf("model %s: trained on data of kind %s, and only models of kind %s can be "+
			"served: write its data with cmd/data convert, and train on those", m.Folder(), data.Kind,
			job.KindCSV)
	}
	s := &served{model: m, name: name, table: data.CSV}
	for _, id := range s.table.SlotNames() {
		s.columns = append(s.columns, column{id, datatypeBytes, []int{-1, 1}})
	}
	for _, number := range s.table.Numeric {
		s.columns = append(s.columns, column{number, datatypeFP32, []int{-1, 1}})
	}
	return s, nil
}

// handler answers requests of at most a number of bytes.
func (s *served) handler(requestMax int64) http.Handler {
	mux := http.NewServeMux()
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	for _, path := range []string{"/v2/health/live", "/v2/health/ready"} {
		mux.HandleFunc("GET "+path, ok)
	}
	mux.HandleFunc("GET /v2", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"name": "tandem", "version": cli.CurrentEnvironment().Commit,
			"extensions": []string{"binary_tensor_data"}})
	})
	counted := s.counts.counted(s.named(func(w http.ResponseWriter, r *http.Request) {
		s.infer(w, r, requestMax)
	}))
	infer := func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, requestMax) // the server's own w, which closes
		counted(w, r)
	}
	for _, path := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		mux.HandleFunc("GET "+path, s.named(s.describe))
		mux.HandleFunc("GET "+path+"/ready", s.named(ok))
		mux.HandleFunc("POST "+path+"/infer", infer)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, fmt.Errorf("no %s %s here", r.Method, r.URL.Path))
	})
	return mux
}

// version is the only version of the model: the number of its training steps.
func (s *served) version() string { return strconv.Itoa(s.model.Steps()) }

// named refuses requests for other models and versions.
func (s *served) named(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if name := r.PathValue("model"); name != s.name {
			refuse(w, http.StatusNotFound, fmt.Errorf("model %q is unknown; this server has %q", name,
				s.name))
			return
		}
		if v := r.PathValue("version"); v != "" && v != s.version() {
			refuse(w, http.StatusNotFound, fmt.Errorf("version %q is unknown; this server has %q", v,
				s.version()))
			return
		}
		next(w, r)
	}
}

func (s *served) describe(w http.ResponseWriter, _ *http.Request) {
	reply(w, map[string]any{
		"name": s.name, "versions": []string{s.version()}, "platform": "tandem", "inputs": s.columns,
		"outputs": []column{{output, datatypeFP32, []int{-1, len(s.model.Labels())}}},
	})
}

// infer answers a request for predictions, whose body ends at requestMax.
func (s *served) infer(w http.ResponseWriter, r *http.Request, requestMax int64) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
			err = fmt.Errorf("the request has more than %d bytes, the limit of this server (--max-request)",
				requestMax)
		}
		refuse(w, status, err)
		return
	}
	q, err := parseRequest(body, r.Header.Get(jsonLengthHeader))
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	ids, numbers, err := s.features(q)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	predictions, err := s.model.Predict(datasets.FeatureRows(s.table, s.model.Scaling(), ids, numbers))
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	s.counts.predicted(len(predictions) / len(s.model.Labels()))
	s.answer(w, q, predictions)
}

// features returns the values of each column of the model.
func (s *served) features(q *request) (ids [][]string, numbers [][]float32, err error) {
	for i := range q.Inputs {
		name := q.Inputs[i].Name
		if !slices.ContainsFunc(s.columns, func(c column) bool { return c.Name == name }) {
			return nil, nil, fmt.Errorf("input %q is no column of the model: it has %q", name, s.names())
		}
		if slices.ContainsFunc(q.Inputs[:i], func(t tensor) bool { return t.Name == name }) {
			return nil, nil, fmt.Errorf("input %q comes twice", name)
		}
	}
	rows := -1
	for _, c := range s.columns {
		at := slices.IndexFunc(q.Inputs, func(t tensor) bool { return t.Name == c.Name })
		if at < 0 {
			return nil, nil, fmt.Errorf("input %q is missing", c.Name)
		}
		t := &q.Inputs[at]
		n, err := t.rows(c.Datatype)
		if err == nil && rows >= 0 && n != rows {
			err = fmt.Errorf("%d rows, and the inputs before have %d", n, rows)
		}
		if err == nil && c.Datatype == datatypeBytes {
			var texts []string
			texts, err = t.texts(n)
			ids = append(ids, texts)
		} else if err == nil {
			var values []float32
			values, err = t.numbers(n)
			if err == nil && len(s.table.Missing) == 0 && slices.ContainsFunc(values, isNaN) {
				err = errors.New("a number is missing, and the training data had no missing numbers")
			}
			numbers = append(numbers, values)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("input %q: %w", c.Name, err)
		}
		rows = n
	}
	return ids, numbers, nil
}

func isNaN(x float32) bool { return x != x }

// names returns the names of the columns.
func (s *served) names() (names []string) {
	for _, c := range s.columns {
		names = append(names, c.Name)
	}
	return names
}

// reply writes a value as JSON. A client that has gone away is not an error of the server.
func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// refuse answers with an error, as the protocol has it.
func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}
