package inference

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/runtime/checkpoint"
)

// Model is a trained model. Its methods but Close are safe for concurrent use.
type Model struct {
	machine backend.Backend
	saved   *checkpoint.Checkpoint
	job     job.Job
	data    job.Data // of the job
	schema  batch.Schema
	engine  model.Engine
	parameters
	predictors sync.Pool
}

// Open opens the model in a folder, as checkpoint.Open does. Memory: the dense network, and 8 to 16 bytes for
// every embedding row, which find it. Predict checks what it reads of the rows.
func Open(folder string) (*Model, error) { return OpenOn(backend.Backend{}, folder) }

// OpenOn is Open, for a model whose network a backend runs.
func OpenOn(machine backend.Backend, folder string) (*Model, error) {
	saved, err := checkpoint.Open(folder)
	if err != nil {
		return nil, err
	}
	return load(machine, folder, saved)
}

// OpenNext opens a later model of the training of m, and verifies it: see checkpoint.OpenNext. Both can be
// used, and be closed in any order.
func (m *Model) OpenNext(folder string) (*Model, error) {
	saved, err := m.saved.OpenNext(folder)
	if err != nil {
		return nil, err
	}
	return load(m.machine, folder, saved)
}

func load(machine backend.Backend, folder string, saved *checkpoint.Checkpoint) (*Model, error) {
	m := &Model{machine: machine, saved: saved}
	if err := m.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("model %s: %w", folder, err), saved.Close())
	}
	return m, nil
}

func (m *Model) load() error {
	j, err := m.saved.ParseJob()
	if err != nil {
		return err
	}
	m.job = j
	if m.data = j.Data; len(m.saved.Scaling) != len(m.saved.Schema.Numbers) {
		return fmt.Errorf("%d scalings of %d numeric columns", len(m.saved.Scaling),
			len(m.saved.Schema.Numbers))
	}
	if m.schema, err = m.saved.Schema.Batch(); err != nil {
		return err
	}
	if m.dense, err = m.saved.Dense(); err != nil {
		return err
	}
	if j.Model.Kind == model.Torch && m.machine.Graph != nil {
		m.engine, err = m.graph()
	} else {
		m.engine, err = backend.NewEngine(&j, &m.schema, m.machine)
	}
	if err != nil {
		return err
	}
	if err := m.saved.CheckLayout(m.engine.Layout()); err != nil {
		return err
	}
	m.rows, err = m.saved.Rows()
	m.predictors.New = func() any {
		return evaluation.NewPredictor(m.engine, &m.schema)
	}
	return err
}

// graph returns the network of a module from its graph and its values.
func (m *Model) graph() (model.Engine, error) {
	graph, err := m.saved.ReadGraph(model.GraphMax)
	if err != nil {
		return nil, err
	}
	tensors, err := m.saved.Tensors()
	if err != nil {
		return nil, err
	}
	return m.machine.Graph(graph, model.Layout{EmbeddingWidth: m.schema.EmbeddingWidth(),
		DenseWidth: len(m.schema.Dense), Labels: len(m.schema.Labels), Tensors: tensors,
		Params: len(m.dense.Params), Running: len(m.dense.Running),
		Units: model.NewLoss(m.job.Model.Spec).Units()}, m.dense)
}

// Close releases the files of the model.
func (m *Model) Close() error { return m.saved.Close() }

// Verify checks the checksum of every file of rows, which Open does not, because it reads them all.
func (m *Model) Verify() error { return m.saved.Verify() }

// Checksum identifies the model: it is the checksum of its manifest.
func (m *Model) Checksum() string { return m.saved.SHA256 }

// Folder returns the folder of the model, as it was given to Open.
func (m *Model) Folder() string { return m.saved.Folder() }

// Steps returns the number of training steps that led to the model.
func (m *Model) Steps() int { return m.saved.Step }

// Written returns when the training had the parameters of the model.
func (m *Model) Written() time.Time { return m.saved.Written }

// ChangedRows returns how many rows were read to open the model, and whether these were only the rows that
// have changed since the one before: see OpenNext.
func (m *Model) ChangedRows() (rows int, changes bool) { return m.saved.ChangedRows() }

// CheckTraining returns an error that names the first difference unless the job of another model is that of
// m. The numbers of roles may differ: they change when processes are lost.
func (m *Model) CheckTraining(other *Model) error {
	differs, err := other.job.DifferenceButRoles(m.job)
	if err == nil && differs != nil {
		err = fmt.Errorf("model %s is of another training: %v", other.Folder(), differs)
	}
	return err
}

// Data describes the data that the model was trained on.
func (m *Model) Data() job.Data { return m.data }

// Scaling has the constants with which numeric columns are standardised.
func (m *Model) Scaling() []batch.Scaling { return m.saved.Scaling }

// Wide returns the names of the slots whose ids have one weight each and no embedding: see model.Spec.Wide.
func (m *Model) Wide() []string { return m.job.Model.Wide }

// Labels returns the names of the labels that the model predicts.
func (m *Model) Labels() []string { return m.schema.Labels }

// Predict returns the probability of label 1 or, of a network with squared loss, the label's number, samples
// × labels, of rows of the schema of the training data, whose numbers are scaled. Labels of the rows are not
// used.
func (m *Model) Predict(rows *batch.Batch) ([]float32, error) {
	p := m.predictors.Get().(*evaluation.Predictor)
	defer m.predictors.Put(p)
	return p.Predict(make([]float32, 0, rows.Samples*len(m.schema.Labels)), &m.parameters, rows)
}

// parameters are those of a model, as an evaluation.State.
type parameters struct {
	rows  *checkpoint.RowReader
	dense model.Values
}

// ReadRows implements evaluation.State. Rows are found by their signs, whichever embedding PS had them.
func (p *parameters) ReadRows(_ int, signs []uint64, dst []float32) error {
	_, err := p.rows.Read(signs, dst)
	return err
}

// ReadDense implements evaluation.State. It returns no copy, because nothing changes the values.
func (p *parameters) ReadDense() (model.Values, error) { return p.dense, nil }

// Unknown returns for each column of ids how many the rows have, and how many of these have no row in the
// model. A column that hashes ids to several shared rows has counts of 0, because a new id finds the rows of
// others, and so has a derived slot: known ids may form a new pair.
func (m *Model) Unknown(rows *batch.Batch) (slots []string, ids, unknown []int) {
	derived := m.Data().Derived
	for i, s := range m.schema.Slots {
		slots, ids, unknown = append(slots, s.Name), append(ids, 0), append(unknown, 0)
		if s.RowsPerID() > 1 ||
			slices.ContainsFunc(derived, func(d job.DerivedSlot) bool { return d.Name == s.Name }) {
			continue
		}
		signs := m.schema.Signer(i).AppendSigns(nil, rows.Slots[i].IDs)
		ids[i], unknown[i] = len(signs), m.rows.Missing(signs)
	}
	return slots, ids, unknown
}

// HasEveryID reports whether every id of the training has a row: none was refused or evicted.
func (m *Model) HasEveryID() bool {
	if lot := m.job.Rows.Admission; lot > 0 && lot < 1 {
		return false
	}
	for _, s := range m.saved.Manifest.Rows.ByOwner() {
		if s.Evicted > 0 || s.Refused > 0 {
			return false
		}
	}
	return true
}

// Embeddings returns the embeddings of ids of a slot, ids × the slot's dimension: of each the sum of its
// rows, of which a hash-stack has several. An id without a trained row has zeros; in a hash-stack a new id
// has the rows of others.
func (m *Model) Embeddings(slot string, ids []uint64) ([]float32, error) {
	at := slices.IndexFunc(m.schema.Slots, func(s batch.Slot) bool { return s.Name == slot })
	if at < 0 {
		return nil, fmt.Errorf("model %s: no slot %s", m.Folder(), slot)
	}
	signer, s := m.schema.Signer(at), m.schema.Slots[at]
	signs := signer.AppendSigns(nil, ids)
	rows := make([]float32, len(signs)*s.Dim)
	if err := m.ReadRows(0, signs, rows); err != nil || s.RowsPerID() == 1 {
		return rows, err
	}
	values := make([]float32, len(ids)*s.Dim)
	for i := range signs {
		to := values[i/s.RowsPerID()*s.Dim:][:s.Dim]
		for k, v := range rows[i*s.Dim:][:s.Dim] {
			to[k] += v
		}
	}
	return values, nil
}
