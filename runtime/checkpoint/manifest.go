package checkpoint

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/table"
)

// The names of files in a folder.
const (
	ManifestFile = "manifest.json"
	DenseFile    = "dense.safetensors"
	JobFile      = "job.yaml"
	GraphFile    = "module.onnx"
)

// RowsFile returns the name of the file with the rows of an owner: one of a number of embedding PSs or, if
// owner is that number, the ranks, which hold the hot rows.
func RowsFile(owner, servers int) string {
	if owner == servers {
		return "rows-hot.arrow"
	}
	return fmt.Sprintf("rows-%05d-of-%05d.arrow", owner, servers)
}

// kindFile returns the name of the file with the rows of one dimension and class, where an owner has several.
func kindFile(rows string, dim, class int) string {
	rows = fmt.Sprintf("%s-dim-%d", strings.TrimSuffix(rows, ".arrow"), dim)
	if class > 0 {
		rows = fmt.Sprintf("%s-class-%d", rows, class)
	}
	return rows + ".arrow"
}

// changesFile returns the name of a file of rows or, from number 1 on, of the changes of a later checkpoint.
func changesFile(rows string, number int) string {
	if number == 0 {
		return rows
	}
	return fmt.Sprintf("%s-changes-%d.arrow", strings.TrimSuffix(rows, ".arrow"), number)
}

// The versions of the format. A program refuses versions that it does not know, and does not read a part of
// a model.
const (
	Version        = 1
	VersionHotRows = 2  // of models with hot rows
	VersionChanges = 3  // of models with files of changes, which may have hot rows, too
	VersionDims    = 4  // of models whose slots differ in dimension, which may have files of changes, too
	VersionMean    = 5  // of models with a slot whose rows are averaged, which may have all that others have
	VersionClasses = 6  // of models with a slot whose rows have settings of their own, which may have all
	VersionMax     = 7  // of models with a slot that takes a maximum, which may have all that others have
	VersionWeights = 8  // of models with a slot whose ids have weights, which may have all that others have
	VersionAges    = 9  // of models with rows that expire, or with candidates, which may have all
	VersionMeans   = 10 // of models with numbers that follow from ids, which may have all that others have
)

// formatName is the value of Manifest.Format.
const formatName = "tandem-model"

// Manifest describes a model. The caller of Save sets the fields up to Scaling; Save sets the others.
type Manifest struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Mode    string    `json:"mode"`
	Step    int       `json:"step"` // training steps from the first of all runs that led to this model
	Samples int       `json:"samples"`
	Seed    uint64    `json:"seed"`
	Commit  string    `json:"commit"` // of the program that wrote it
	Written time.Time `json:"written"`
	// Scaling standardises each numeric column: (value − mean) / std. Those of job.Data.Means have tables.
	Scaling []batch.Scaling `json:"scaling"`

	Schema Schema `json:"schema"`
	Dense  Dense  `json:"dense"`
	Rows   Rows   `json:"rows"`
	Files  []File `json:"files"`
	// SHA256 is the checksum of the manifest with this field empty.
	SHA256 string `json:"sha256"`

	// Job is the text of the resolved job, the content of job.yaml.
	Job []byte `json:"-"`
	// Graph is a module of PyTorch as ONNX without its values, the content of module.onnx: see
	// torch.Modules.Graph. Save writes no file if it is empty; of a saved model see Checkpoint.ReadGraph.
	Graph []byte `json:"-"`
}

// Schema describes the columns, as batch.Schema does.
type Schema struct {
	Slots      []Slot   `json:"slots"`
	Numbers    []string `json:"numbers"`
	Labels     []string `json:"labels"`
	PrefixBits int      `json:"prefix_bits"`
}

// Slot describes an id column, as batch.Slot does.
type Slot struct {
	Name            string `json:"name"`
	Dim             int    `json:"dim"`
	Class           int    `json:"class,omitempty"`
	Pooling         string `json:"pooling"` // "sum", "raw" or "max"
	FixedSize       int    `json:"fixed_size,omitempty"`
	Group           string `json:"group,omitempty"`
	HashStackRounds int    `json:"hash_stack_rounds,omitempty"`
	HashStackRows   int    `json:"hash_stack_rows,omitempty"`
	SqrtScaling     bool   `json:"sqrt_scaling,omitempty"`
	Mean            bool   `json:"mean,omitempty"`
	Weighted        bool   `json:"weighted,omitempty"`
}

// Dense describes the dense network.
type Dense struct {
	Parameters int    `json:"parameters"`
	Parts      []Part `json:"parts"`
}

// Part describes what one role held of the dense network.
type Part struct {
	Role       string `json:"role"`
	Index      int    `json:"index"`
	Lo         int    `json:"lo"` // its parameters are those from lo on
	Parameters int    `json:"parameters"`
	Steps      int    `json:"steps"`    // optimizer steps
	PerStep    int    `json:"per_step"` // optimizer steps of a training step
}

// Rows describes the embedding rows.
type Rows struct {
	Dim         int    `json:"dim"`
	Precision   string `json:"precision"`
	StateValues int    `json:"state_values"` // float32 values of optimizer state of a row
	// Servers are by embedding PS and, where Dims are given, there by dimension.
	Servers []Server `json:"servers"`
	// Hot describes the hot rows, of which every rank has a copy; nil if the model has none.
	Hot *Server `json:"hot,omitempty"`
	// Dims describes the rows of each dimension and class, in the order of batch.Dims, where slots differ in
	// theirs. Dim and StateValues are 0 then, and Precision is that of the first.
	Dims []DimRows `json:"dims,omitempty"`
}

// DimRows describes the rows of one dimension and class, as Rows does.
type DimRows struct {
	Dim         int `json:"dim"`
	StateValues int `json:"state_values"`
	Class       int `json:"class,omitempty"` // see batch.Slot
	// Precision is empty if it is that of Rows.
	Precision string `json:"precision,omitempty"`
}

// ByDim returns the descriptions of the rows of every dimension and class, each with its precision.
func (r *Rows) ByDim() []DimRows {
	if len(r.Dims) == 0 {
		return []DimRows{{Dim: r.Dim, StateValues: r.StateValues, Precision: r.Precision}}
	}
	dims := slices.Clone(r.Dims)
	for i := range dims {
		dims[i].Precision = cmp.Or(dims[i].Precision, r.Precision)
	}
	return dims
}

// PSs returns the number of embedding PSs.
func (r *Rows) PSs() int { return len(r.Servers) / max(len(r.Dims), 1) }

// dim describes the rows of one of ByOwner.
func (r *Rows) dim(shelf int) DimRows { return r.ByDim()[shelf%len(r.ByDim())] }

// ByOwner returns the descriptions of the rows of every owner: of each embedding PS, and there of each
// dimension, and, if there are any, of the hot rows.
func (r *Rows) ByOwner() []Server {
	if r.Hot == nil {
		return r.Servers
	}
	return append(slices.Clip(r.Servers), *r.Hot)
}

// RowsFile returns the name of the file with the rows of one of ByOwner, without later changes.
func (r *Rows) RowsFile(shelf int) string {
	if len(r.Dims) == 0 {
		return RowsFile(shelf, len(r.Servers))
	}
	dim := r.dim(shelf)
	return kindFile(RowsFile(shelf/len(r.Dims), r.PSs()), dim.Dim, dim.Class)
}

// fileNames returns the names of the files with the rows of one of ByOwner.
func (r *Rows) fileNames(shelf int) (names []string) {
	rows := r.RowsFile(shelf)
	for i := range 1 + r.ByOwner()[shelf].Changes {
		names = append(names, changesFile(rows, i))
	}
	return names
}

// version returns the version of the format of the model.
func (m *Manifest) version() int {
	r := &m.Rows
	switch {
	case slices.ContainsFunc(m.Scaling, func(s batch.Scaling) bool { return s.Values != "" }):
		return VersionMeans
	case slices.ContainsFunc(r.ByOwner(), func(s Server) bool { return s.Swept > 0 || s.Candidates > 0 }):
		return VersionAges
	case slices.ContainsFunc(m.Schema.Slots, func(s Slot) bool { return s.Weighted }):
		return VersionWeights
	case slices.ContainsFunc(m.Schema.Slots, func(s Slot) bool { return s.Pooling == poolings[batch.Max] }):
		return VersionMax
	case slices.ContainsFunc(m.Schema.Slots, func(s Slot) bool { return s.Class > 0 }):
		return VersionClasses
	case slices.ContainsFunc(m.Schema.Slots, func(s Slot) bool { return s.Mean }):
		return VersionMean
	case len(r.Dims) > 0:
		return VersionDims
	case slices.ContainsFunc(r.ByOwner(), func(s Server) bool { return s.Changes > 0 }):
		return VersionChanges
	case r.Hot != nil:
		return VersionHotRows
	}
	return Version
}

// Server describes the rows of one owner, with what its table remembers besides rows.
type Server struct {
	Rows      int `json:"rows"`
	Hand      int `json:"hand"`    // the row that eviction examines next
	Evicted   int `json:"evicted"` // also those that have expired
	Applied   int `json:"applied"` // gradients, by what became of them
	Missing   int `json:"missing"`
	Refused   int `json:"refused"`
	Lost      int `json:"lost"` // their rows were evicted, or had expired
	NonFinite int `json:"non_finite"`
	// Changes is the number of files with rows that have changed since RowsFile was written.
	Changes int `json:"changes,omitempty"`
	// Swept is the latest step before whose reads rows have expired; 0 where they do not.
	Swept int `json:"swept,omitempty"`
	// Candidates is the number of signs without rows whose steps are counted. They have a file if there are
	// some.
	Candidates int `json:"candidates,omitempty"`
}

// counters returns what the table remembers besides rows.
func (s Server) counters() table.Counters {
	return table.Counters{Hand: s.Hand, Swept: s.Swept, Evicted: s.Evicted, Outcomes: table.Outcome{
		Applied: s.Applied, Missing: s.Missing, Refused: s.Refused, Evicted: s.Lost, NonFinite: s.NonFinite}}
}

func serverOf(rows int, c table.Counters) Server {
	o := c.Outcomes
	return Server{Rows: rows, Hand: c.Hand, Evicted: c.Evicted, Applied: o.Applied, Missing: o.Missing,
		Refused: o.Refused, Lost: o.Evicted, NonFinite: o.NonFinite, Swept: c.Swept}
}

// File is a file of the folder.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// poolings are the names of batch.Pooling.
var poolings = [...]string{batch.Sum: "sum", batch.Raw: "raw", batch.Max: "max"}

// schemaOf returns the description of a schema.
func schemaOf(s *batch.Schema) Schema {
	out := Schema{Slots: []Slot{}, Numbers: append([]string{}, s.Dense...),
		Labels: append([]string{}, s.Labels...), PrefixBits: s.PrefixBits}
	for _, slot := range s.Slots {
		out.Slots = append(out.Slots, Slot{slot.Name, slot.Dim, slot.Class, poolings[slot.Pooling],
			slot.FixedSize, slot.Group, slot.HashStack.Rounds, slot.HashStack.Rows,
			slot.Scale == batch.SqrtScaled, slot.Scale == batch.Mean, slot.Weighted})
	}
	return out
}

// Batch returns the schema as batches have it.
func (s *Schema) Batch() (batch.Schema, error) {
	out := batch.Schema{Dense: s.Numbers, Labels: s.Labels, PrefixBits: s.PrefixBits}
	for _, slot := range s.Slots {
		pooling := batch.Sum
		switch slot.Pooling {
		case poolings[batch.Sum]:
		case poolings[batch.Raw]:
			pooling = batch.Raw
		case poolings[batch.Max]:
			pooling = batch.Max
		default:
			return out, fmt.Errorf("slot %s has pooling %q, want one of %q", slot.Name, slot.Pooling,
				poolings)
		}
		scale := batch.Unscaled
		switch {
		case slot.SqrtScaling && slot.Mean:
			return out, fmt.Errorf("slot %s has both sqrt_scaling and mean", slot.Name)
		case slot.SqrtScaling:
			scale = batch.SqrtScaled
		case slot.Mean:
			scale = batch.Mean
		}
		out.Slots = append(out.Slots, batch.Slot{Name: slot.Name, Dim: slot.Dim, Class: slot.Class,
			Pooling: pooling, FixedSize: slot.FixedSize, Group: slot.Group, Scale: scale,
			Weighted:  slot.Weighted,
			HashStack: batch.HashStack{Rounds: slot.HashStackRounds, Rows: slot.HashStackRows}})
	}
	return out, out.Validate()
}

// sides are the names of two schemas that are compared, in messages.
type sides struct {
	first, second string
	// settings is where the second schema has the settings of its id columns from.
	settings string
}

// difference returns the first difference between two schemas, or "".
func (s *Schema) difference(other *Schema, in sides) string {
	lists := func(kind string, first, second []string) string {
		for i := range max(len(first), len(second)) {
			name := func(names []string) string {
				if i < len(names) {
					return fmt.Sprintf("%q", names[i])
				}
				return "none"
			}
			if a, b := name(first), name(second); a != b {
				return fmt.Sprintf("%s %d is %s in %s and %s in %s", kind, i+1, a, in.first, b, in.second)
			}
		}
		return ""
	}
	names := func(slots []Slot) (all []string) {
		for _, slot := range slots {
			all = append(all, slot.Name)
		}
		return all
	}
	for _, found := range []string{lists("id column", names(s.Slots), names(other.Slots)),
		lists("numeric column", s.Numbers, other.Numbers), lists("label", s.Labels, other.Labels)} {
		if found != "" {
			return found
		}
	}
	for i, slot := range s.Slots {
		if setting, a, b := slot.difference(other.Slots[i]); setting != "" {
			return fmt.Sprintf("id column %s has %s %v in %s and %v in %s", slot.Name, setting, a, in.first,
				b, in.settings)
		}
	}
	if s.PrefixBits != other.PrefixBits {
		return fmt.Sprintf("a sign has a prefix of %d bits in %s and of %d in %s", s.PrefixBits, in.first,
			other.PrefixBits, in.settings)
	}
	return ""
}

// difference returns the first setting of two id columns that differs, by its name in the manifest, with its
// two values. The numbers of classes are none: they follow from the order of data.slots.
func (s Slot) difference(other Slot) (setting string, a, b any) {
	for _, is := range []struct {
		setting string
		a, b    any
	}{
		{"dim", s.Dim, other.Dim},
		{"pooling", s.Pooling, other.Pooling},
		{"fixed_size", s.FixedSize, other.FixedSize},
		{"group", strconv.Quote(s.Group), strconv.Quote(other.Group)},
		{"hash_stack_rounds", s.HashStackRounds, other.HashStackRounds},
		{"hash_stack_rows", s.HashStackRows, other.HashStackRows},
		{"sqrt_scaling", s.SqrtScaling, other.SqrtScaling},
		{"mean", s.Mean, other.Mean},
		{"weighted", s.Weighted, other.Weighted},
	} {
		if is.a != is.b {
			return is.setting, is.a, is.b
		}
	}
	return "", nil, nil
}

// encode returns the content of manifest.json.
func (m *Manifest) encode() ([]byte, error) {
	m.SHA256 = ""
	unsigned, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(unsigned)
	m.SHA256 = hex.EncodeToString(sum[:])
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// Describe returns the manifest of the model that a job, of which text is the YAML, has after a number of
// steps of a source. Commit and Written are left to the caller.
func Describe(j *job.Job, text []byte, scaling []batch.Scaling, source batch.Source, steps int) *Manifest {
	m := &Manifest{Mode: j.Training.Mode, Step: steps, Seed: j.Training.Seed, Job: text, Scaling: scaling}
	if counted, ok := source.(interface{ SamplesBefore(step int) int }); ok { // it has many steps
		m.Samples = counted.SamplesBefore(steps)
		return m
	}
	for step := range steps {
		m.Samples += source.Samples(step)
	}
	return m
}

// errManifest says that a manifest is not as it was written.
var errManifest = errors.New("the file is damaged or was edited")

// decodeManifest reads the content of manifest.json. Every byte of it counts: the text must be the one that
// encode writes.
func decodeManifest(text []byte) (*Manifest, error) {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", errManifest, err)
	}
	if head.Format != formatName {
		return nil, fmt.Errorf("the format is %q, want %q", head.Format, formatName)
	}
	if head.Version < Version || head.Version > VersionMeans {
		return nil, fmt.Errorf("the format has version %d, and this program reads versions %d to %d: %w",
			head.Version, Version, VersionMeans, errOther)
	}
	m := new(Manifest)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(m); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%w: %w", errManifest, err)
	}
	want := *m
	if again, err := want.encode(); err != nil || !bytes.Equal(again, text) {
		return nil, errManifest
	}
	return m, m.check()
}

// check returns an error if a manifest contradicts itself, so that what reads it need not check again.
func (m *Manifest) check() error {
	if len(m.Rows.Servers) < 1 {
		return errors.New("no embedding PS")
	}
	for _, d := range m.Rows.ByDim() {
		if d.Dim < 1 || d.StateValues < 0 {
			return fmt.Errorf("%d embedding PSs with rows of %d and %d values", len(m.Rows.Servers), d.Dim,
				d.StateValues)
		}
		if _, err := table.ParsePrecision(d.Precision); err != nil {
			return err
		}
	}
	if err := m.checkDims(); err != nil {
		return err
	}
	for _, s := range m.Rows.ByOwner() {
		if s.Rows < 0 || s.Changes < 0 || s.Changes >= len(m.Files) || s.Candidates < 0 {
			return fmt.Errorf("%d rows of a PS with changes in %d files, and %d candidates", s.Rows,
				s.Changes, s.Candidates)
		}
	}
	if v := m.version(); v != m.Version {
		return fmt.Errorf("version %d of the format, and it is one of version %d", m.Version, v)
	}
	if len(m.Scaling) != len(m.Schema.Numbers) {
		return fmt.Errorf("%d numeric columns with the scaling of %d", len(m.Schema.Numbers), len(m.Scaling))
	}
	seen := map[string]bool{}
	for _, f := range m.Files {
		if f.Bytes < 0 || f.Name == "" || strings.ContainsAny(f.Name, `/\`) || f.Name == ManifestFile {
			return fmt.Errorf("the file %q of %d bytes", f.Name, f.Bytes)
		}
		seen[f.Name] = true
	}
	var wanted []string
	for owner, s := range m.Rows.ByOwner() {
		wanted = append(wanted, m.Rows.fileNames(owner)...)
		if s.Candidates > 0 {
			wanted = append(wanted, candidatesFile(m.Rows.RowsFile(owner)))
		}
	}
	// Models had no checksums of blocks once. A model with some has all.
	if slices.ContainsFunc(wanted, func(rows string) bool { return seen[blocksFile(rows)] }) {
		for _, rows := range wanted {
			wanted = append(wanted, blocksFile(rows))
		}
	}
	for _, name := range append(wanted, DenseFile, JobFile) {
		if !seen[name] {
			return fmt.Errorf("the manifest does not list %s", name)
		}
	}
	return nil
}

// checkDims returns an error unless the rows have the dimensions of the slots.
func (m *Manifest) checkDims() error {
	schema, err := m.Schema.Batch()
	if err != nil {
		return err
	}
	if len(m.Rows.Dims) == 0 {
		for _, s := range m.Schema.Slots {
			if s.Dim != m.Rows.Dim {
				return fmt.Errorf("slot %s has embeddings of %d values, and rows have %d", s.Name, s.Dim,
					m.Rows.Dim)
			}
		}
		return nil
	}
	var dims, classes []int
	for _, d := range m.Rows.Dims {
		dims, classes = append(dims, d.Dim), append(classes, d.Class)
		if d.Precision == m.Rows.Precision {
			return fmt.Errorf("rows.dims has the precision %s of all rows", d.Precision)
		}
	}
	r, want := &m.Rows, schema.Dims().Lengths()
	if len(want) < 2 || !slices.Equal(dims, want) || !slices.Equal(classes, schema.Dims().Classes()) ||
		len(r.Servers)%len(dims) != 0 || r.Hot != nil ||
		r.Dim != 0 || r.StateValues != 0 {
		return fmt.Errorf("the rows of %d tables have %v values, and the slots %v", len(r.Servers), dims,
			want)
	}
	return nil
}

// lists reports whether the model has a file.
func (m *Manifest) lists(name string) bool { return m.file(name).Bytes >= 0 }

// file returns the entry of a file.
func (m *Manifest) file(name string) File {
	for _, f := range m.Files {
		if f.Name == name {
			return f
		}
	}
	return File{Name: name, Bytes: -1}
}
