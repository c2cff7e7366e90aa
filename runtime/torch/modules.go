package torch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// Modules makes the engines of modules, and keeps their processes for the next training.
type Modules struct {
	// Python is the interpreter.
	Python string
	// Limit is how long a request may take; longer, and the module hangs.
	Limit time.Duration
	// Stderr receives what modules print, in whole lines that begin with Prefix.
	Stderr io.Writer
	// Begin, if it is not empty, is a file with the state_dict with which trainings begin.
	Begin string

	mu      sync.Mutex
	closed  bool
	all     map[string]*processes // by configuration
	version string                // of torch
	onnx    bool                  // the Python has what Graph needs

	printing sync.Mutex // to Stderr
}

// limit is that of FromEnvironment: a first pass may compile for minutes.
const limit = 10 * time.Minute

// FromEnvironment returns Modules that use the interpreter that the environment variable TANDEM_PYTHON names,
// or python3.
func FromEnvironment(stderr io.Writer) *Modules {
	python := os.Getenv("TANDEM_PYTHON")
	if python == "" {
		python = "python3"
	}
	return &Modules{Python: python, Limit: limit, Stderr: stderr}
}

// config is the first line that a process reads.
type config struct {
	File      string         `json:"file"`
	Source    string         `json:"source"`
	Class     string         `json:"class"`
	Arguments map[string]any `json:"arguments"`
	Compile   bool           `json:"compile"`
	BF16      bool           `json:"bf16"` // of training passes
	TF32      bool           `json:"tf32"` // of products on a GPU
	// Devices are those that ranks take in turn, as torch names them; "cuda" is every GPU. None: the
	// processors, whose memory is shared.
	Devices []string `json:"devices,omitempty"`
	Slots   []slot   `json:"slots"`
	Width   int      `json:"width"` // embedding values of a sample
	Numbers []string `json:"numbers"`
	Labels  []string `json:"labels"`
	Limit   float64  `json:"limit"` // seconds
	// Graph says that the process is one of Graph, which has another failure than those of ranks.
	Graph bool `json:"graph,omitempty"`
}

// slot is a slot whose ids are pooled, or one with that number of ids.
type slot struct {
	Name  string `json:"name"`
	Dim   int    `json:"dim"`
	IDs   int    `json:"ids"`
	Width int    `json:"width"`
}

// Engine returns the engine of a job's module, for backend.Backend. It starts a process that imports the file
// and tries the module, and returns what the module lacks.
func (m *Modules) Engine(j *job.Job, schema *batch.Schema) (model.Engine, error) {
	if err := refuse(j, schema); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m.config(j, schema))
	if err != nil {
		return nil, fmt.Errorf("model.arguments: %w", err)
	}
	p, err := m.processes(text)
	if err != nil {
		return nil, err
	}
	return newEngine(p, j.Model.Spec, schema)
}

// config returns what a process must know of a job.
func (m *Modules) config(j *job.Job, schema *batch.Schema) config {
	spec := j.Model.Spec
	c := config{File: spec.File, Source: spec.Source, Class: spec.Class, Arguments: spec.Arguments,
		Compile: spec.Compile, BF16: j.Model.Precision == job.BF16, TF32: j.Model.Precision == job.TF32,
		Devices: devices(j.Model.Device), Width: schema.EmbeddingWidth(), Numbers: schema.Dense,
		Labels: schema.Labels, Limit: m.Limit.Seconds(), Slots: []slot{}}
	if c.Arguments == nil {
		c.Arguments = map[string]any{}
	}
	if c.Numbers == nil {
		c.Numbers = []string{}
	}
	for _, s := range schema.Slots {
		one := slot{Name: s.Name, Dim: s.Dim, Width: s.Width()}
		if s.Pooling == batch.Raw {
			one.IDs = s.FixedSize
		}
		c.Slots = append(c.Slots, one)
	}
	return c
}

// devices returns how torch names the devices of a job.
func devices(d job.Device) (names []string) {
	if d.CUDA && len(d.Ordinals) == 0 {
		return []string{"cuda"}
	}
	for _, ordinal := range d.Ordinals {
		names = append(names, fmt.Sprintf("cuda:%d", ordinal))
	}
	return names
}

// HostEngine is Engine in a process without ranks, which need have no GPU: on the processors.
func (m *Modules) HostEngine(j *job.Job, schema *batch.Schema) (model.Engine, error) {
	host := *j
	host.Model.Device = job.Device{}
	return m.Engine(&host, schema)
}

// SavedEngine is Engine, for the job of a saved model. It refuses a module whose file has changed since, and
// neither compiles it nor computes on a GPU, so that a model can be read where there is no compiler and no
// GPU. No prediction is rounded.
func (m *Modules) SavedEngine(j *job.Job, schema *batch.Schema) (model.Engine, error) {
	if err := job.CheckModule(&j.Model.Spec); err != nil {
		return nil, err
	}
	plain := *j
	plain.Model.Compile, plain.Model.Precision, plain.Model.Device = false, job.FP32, job.Device{}
	return m.Engine(&plain, schema)
}

// processes returns those of a module, described. It makes them if there are none, or if they have failed.
func (m *Modules) processes(config []byte) (*processes, error) {
	p, err := m.find(config)
	if err != nil {
		return nil, err
	}
	if err := p.describe(); err != nil { // without mu, for which Close waits
		p.close()
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version, m.onnx = p.Torch, p.ONNX
	return p, nil
}

// find is processes without the description.
func (m *Modules) find(config []byte) (*processes, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	if p := m.all[string(config)]; p != nil {
		if p.failure() == nil {
			return p, nil
		}
		p.close()
	}
	p, err := m.newProcesses(config)
	if err != nil {
		return nil, err
	}
	if m.all == nil {
		m.all = map[string]*processes{}
	}
	m.all[string(config)] = p
	return p, nil
}

// refuse returns an error for what modules cannot do.
func refuse(j *job.Job, schema *batch.Schema) error {
	if labels := len(schema.Labels); labels != j.Model.Labels() {
		return fmt.Errorf("there are %d labels and %d heads: give the model one head for each label", labels,
			j.Model.Labels())
	}
	for _, h := range j.Model.Heads {
		if len(h.Layers) > 0 {
			return errors.New("model.heads has layers: a module has its own; leave them out")
		}
	}
	for _, s := range schema.Slots {
		if s.Dim != j.Model.Dim() {
			return fmt.Errorf("slot %q has rows of %d values, the model wants %d", s.Name, s.Dim,
				j.Model.Dim())
		}
	}
	if schema.EmbeddingWidth() == 0 {
		return errors.New("the data have no slots, so there is no embedding for a module")
	}
	return nil
}

// Torch returns the version of torch that the modules run on, or "" if none has been described.
func (m *Modules) Torch() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version
}

// Close ends all processes for good, also those that hang, and returns when they have ended.
func (m *Modules) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.all { // order-free: all end
		p.close()
	}
	m.all, m.closed = nil, true
}

// interpreter returns the path of the interpreter.
func (m *Modules) interpreter() (string, error) {
	path, err := exec.LookPath(m.Python)
	if err != nil {
		return "", fmt.Errorf("no Python: %w; set TANDEM_PYTHON to a Python that has torch", err)
	}
	return path, nil
}
