package export_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	_ "tandem/datasets/parquet"
	"tandem/internal/modeltest"
	"tandem/internal/pythontest"
	"tandem/runtime/checkpoint"
	"tandem/runtime/export"
	"tandem/runtime/inference"
	"tandem/runtime/torch"
)

// paid are numbers with all that people write around them.
var paid = []string{"5 %", "$1'234.5", "($30.25)", "-€7", "€ −800", "+9", "12.5e1¥", "(4’000’000)", ".5",
	"-3"}

// table has ids with points, a list of ids, missing numbers, numbers with commas, some far from 0, numbers
// with signs around them, two labels, slots that are derived from all of them, and means of labels by id.
func table(t *testing.T) job.Data {
	var b strings.Builder
	b.WriteString("user,tags,price,at,paid,clicked,bought\n")
	for i := range 2000 {
		price := fmt.Sprintf(`"%d.%03d,%d"`, i%7+1, i%5, i%2*5)
		if i%9 == 0 {
			price = "NA"
		}
		user, at := []string{"%d", "%d.0"}[i%2], i*60
		fmt.Fprintf(&b, user+`, t%d | t%d,%s,"1,600,%03d,%03d.5",%s,%d,%d`+"\n", i%23, i%5, i%3, price,
			at/1000, at%1000, paid[i%len(paid)], i%3/2, i%5/4)
	}
	path := filepath.Join(t.TempDir(), "clicks.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return job.Data{Kind: job.KindCSV, Path: path, CSV: &job.Table{Label: "clicked",
		Slots:   []job.IDColumn{{Column: "user", Whole: true}, {Column: "tags", Separator: "|"}},
		Numeric: []string{"price", "at", "paid"}, Missing: []string{"NA"}, DecimalComma: []string{"price"},
		Thousands: []string{"at"}},
		Derived: []job.DerivedSlot{
			{Name: "user, tag, price", Columns: []job.DerivedColumn{{Column: "user"}, {Column: "tags"},
				{Column: "price", Edges: []float64{2000, 3001.5, 4002}}}},
			{Name: "time", Columns: []job.DerivedColumn{{Column: "at", Edges: []float64{1_600_050_000.5}}}},
			{Name: "what was paid", Columns: []job.DerivedColumn{{Column: "paid",
				Edges: []float64{-900, -500, -10, 0, 1, 100, 1000, 10_000}}}},
		},
		Means: []string{"tags", "user, tag, price", "user"}}
}

// trained returns the folder of a model of the table.
func trained(t *testing.T, data job.Data, change func(*job.Job)) string {
	j := job.Default()
	j.Name, j.Cluster, j.Data = "clicks", job.PersiaCluster(), data
	j.Model.Top, j.Model.BatchNorm = []int{16, 8}, true
	change(&j)
	folder, _ := modeltest.Train(t, j)
	return folder
}

// exported exports a model and returns the folder.
func exported(t *testing.T, from, format string) string {
	return exportedOn(t, from, format, backend.Backend{})
}

func exportedOn(t *testing.T, from, format string, machine backend.Backend) string {
	m, err := checkpoint.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	folder := filepath.Join(t.TempDir(), "exported")
	if _, _, err := export.Write(folder, m, format, machine); err != nil {
		t.Fatal(err)
	}
	return folder
}

// rowsOf returns the rows of a model.
func rowsOf(t *testing.T, from string) *checkpoint.RowReader {
	t.Helper()
	m, err := checkpoint.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	rows, err := m.Rows()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// The Python program predicts what the model does, for every kind of network, with each of the formats and
// libraries, probabilities or numbers.
func TestPythonPredictsWhatTheModelDoes(t *testing.T) {
	settings := []job.SlotSetting{
		{Slot: "user", HashStack: batch.HashStack{Rounds: 2, Rows: 50}, SqrtScaling: true},
		{Slot: "tags", Raw: 3},
	}
	means := []job.SlotSetting{{Slot: "user", HashStack: settings[0].HashStack, Pooling: job.PoolMean},
		{Slot: "tags", Pooling: job.PoolMean}}
	maxima := []job.SlotSetting{{Slot: "tags", Pooling: job.PoolMax}}
	for _, c := range []struct {
		kind, rows, modules, library string
		heads                        int
		slots                        []job.SlotSetting
		loss                         string
	}{
		{model.LogisticRegression, export.Parquet, "pyarrow, onnxruntime, onnx", "", 2, nil, ""},
		{model.FactorizationMachine, export.Parquet, "pyarrow, onnxruntime, onnx", "", 1, nil, ""},
		{model.DeepFM, export.Safetensors, "onnxruntime, onnx", "", 1, maxima, ""},
		{model.DLRM, export.Parquet, "pyarrow, onnxruntime, onnx", "", 2, nil, ""},
		{model.DCNv2, export.Parquet, "pyarrow, onnxruntime, onnx", "", 1, means, ""},
		{model.FeedForward, export.Parquet, "pyarrow, onnxruntime, onnx", "", 2, settings, ""},
		{model.DeepFM, export.Parquet, "pyarrow, torch, onnx", "--torch", 1, nil, ""},
		{model.DLRM, export.Safetensors, "torch, onnx", "--torch", 2, nil, ""},
		{model.DCNv2, export.Parquet, "pyarrow, torch, onnx", "--torch", 1, nil, ""},
		{model.DeepFM, export.Parquet, "pyarrow, onnxruntime, onnx", "", 1, nil, model.SquaredLoss},
		{model.DLRM, export.Parquet, "pyarrow, torch, onnx", "--torch", 2, nil, model.SquaredLoss},
	} {
		t.Run(fmt.Sprintf("%s, %s %s %s", c.kind, c.rows, c.library, c.loss), func(t *testing.T) {
			python := pythontest.With(t, "numpy, "+c.modules)
			data := table(t)
			from := trained(t, data, func(j *job.Job) {
				j.Model.Kind, j.Model.Loss, j.Data.Slots = c.kind, c.loss, c.slots
				if j.Model.Heads = make([]model.Head, c.heads); c.heads == 2 {
					j.Data.CSV.FurtherLabels = []string{"bought"}
				}
				for i := range j.Model.Heads {
					if c.loss == model.SquaredLoss {
						j.Data.CSV.LabelValues, j.Data.Means = job.NumberLabels, nil
						j.Model.Heads[i] = model.Head{Center: -5, Scale: 3}
					}
				}
			})
			folder := exported(t, from, c.rows)
			python.Run(t, nil, "-c",
				"import onnx, sys; onnx.checker.check_model(sys.argv[1], full_check=True)",
				filepath.Join(folder, export.NetworkFile))
			arguments := []string{filepath.Join(folder, export.ProgramFile), data.Path}
			if c.library != "" {
				arguments = append(arguments, c.library)
			}
			got := strings.Fields(string(python.Run(t, nil, arguments...)))
			compare(t, got[1:], predictions(t, from, data.Path), c.heads)
		})
	}
}

// network is a module with a raw slot, batch norm and two labels.
const network = `import torch
from torch import nn


class Both(nn.Module):
    def __init__(self, hidden, slope=0.5):
        super().__init__()
        self.top = nn.Sequential(nn.LazyLinear(hidden), nn.LazyBatchNorm1d(), nn.LeakyReLU(slope))
        self.heads = nn.ModuleDict({name: nn.Linear(hidden, 1) for name in ("bought", "clicked")})

    def forward(self, embeddings, numbers):
        rows, mask = embeddings["tags"]
        pooled = [e for name, e in embeddings.items() if name != "tags"]
        tags = (rows * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        x = self.top(torch.cat([tags, *pooled, numbers], dim=1))
        return {name: head(x)[:, 0] for name, head in self.heads.items()}
`

// The Python program predicts with a module of PyTorch what the model does, from its text and its state_dict.
func TestPythonPredictsWithAModule(t *testing.T) {
	python := pythontest.Torch(t)
	modules := torch.FromEnvironment(os.Stderr)
	defer modules.Close()
	machine := backend.Backend{Torch: modules.Engine}
	data := table(t)
	data.Slots, data.CSV.FurtherLabels = []job.SlotSetting{{Slot: "tags", Raw: 3}}, []string{"bought"}
	j := job.Default()
	j.Name, j.Cluster, j.Data = "clicks", job.PersiaCluster(), data
	j.Model.Spec = model.Spec{Kind: model.Torch, File: "net.py", Class: "Both", Source: network,
		EmbeddingDim: 4, Arguments: map[string]any{"hidden": 8}, Heads: make([]model.Head, 2)}
	if err := job.ReadModule(&j.Model.Spec); err != nil {
		t.Fatal(err)
	}
	from, _ := modeltest.TrainOn(t, machine, j)
	folder := exportedOn(t, from, export.Safetensors, machine)
	got := strings.Fields(string(python.Run(t, nil, filepath.Join(folder, export.ProgramFile), data.Path)))
	compare(t, got[1:], predictionsOn(t, from, data.Path, machine), 2)
}

// compare compares lines of predictions, and checks that they are not all the same.
func compare(t *testing.T, lines []string, want []float32, heads int) {
	t.Helper()
	if len(lines)*heads != len(want) {
		t.Fatalf("%d lines of %d predictions", len(lines), len(want))
	}
	worst := 0.0
	for i, line := range lines {
		for h, text := range strings.Split(line, ",") {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			worst = max(worst, math.Abs(value-float64(want[i*heads+h])))
		}
	}
	if worst > 1e-5 {
		t.Errorf("predictions differ by up to %g", worst)
	}
	if slices.Max(want)-slices.Min(want) < 1e-3 {
		t.Errorf("all predictions are %g: that compares nothing", want[0])
	}
}

// predictions returns what a model predicts for a file.
func predictions(t *testing.T, folder, path string) (all []float32) {
	return predictionsOn(t, folder, path, backend.Backend{})
}

func predictionsOn(t *testing.T, folder, path string, machine backend.Backend) (all []float32) {
	m, err := inference.OpenOn(machine, folder)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	err = datasets.ReadFeatures(m.Data(), m.Scaling(), path, func(b *batch.Batch, _ float64) error {
		p, err := m.Predict(b)
		all = append(all, p...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The Python program reads a file as the model does: with a byte-order mark, compressed, with bytes that are
// no UTF-8, with rows of several lines, and with long fields.
func TestPythonReadsWhatTheModelReads(t *testing.T) {
	python := pythontest.With(t, "numpy, pyarrow, onnxruntime")
	data := table(t)
	text, err := os.ReadFile(data.Path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("\nu3,"), []byte("\r\n\"Z\xfcrich\nu3\",")) // Latin-1
	text = bytes.Replace(text, []byte("\nu4,"), []byte("\n"+strings.Repeat("u4", 1<<17)+","), 1)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(append([]byte("\xef\xbb\xbf"), text...))
	w.Close()
	if err := os.WriteFile(data.Path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	from := trained(t, data, func(*job.Job) {})
	program := filepath.Join(exported(t, from, export.Parquet), export.ProgramFile)
	got := strings.Fields(string(python.Run(t, nil, program, data.Path)))
	compare(t, got[1:], predictions(t, from, data.Path), 1)
}

// The Python program reads a Parquet file as a model of Parquet data does: lists, nulls, booleans, NaN,
// decimals, and whole ids that are floating-point numbers, some above 2⁵³.
func TestPythonReadsParquet(t *testing.T) {
	python := pythontest.With(t, "numpy, pyarrow, onnxruntime")
	type row struct {
		User  *string  `parquet:"user,optional"`
		Tags  []string `parquet:"tags,list"`
		New   bool     `parquet:"new"`
		Shop  uint32   `parquet:"shop"`
		Maker *float64 `parquet:"maker,optional"`
		Price *float64 `parquet:"price,optional"`
		Paid  int64    `parquet:"paid,decimal(2:12)"`
		Click int64    `parquet:"click"`
	}
	rows := make([]row, 2000)
	for i := range rows {
		rows[i] = row{Tags: []string{"a", "b|c", "d"}[:i%4%3], New: i%5 == 0, Shop: 4e9 + uint32(i%7),
			Paid: int64(i%17*33 - 200), Click: int64(i % 3 / 2)}
		if i%11 > 0 {
			rows[i].User, rows[i].Price = new(fmt.Sprint("u", i%23)), new(float64(i%13)/3)
		}
		if i%13 == 1 {
			rows[i].Price = new(math.NaN())
		}
		if i%7 > 0 {
			rows[i].Maker = new(float64(i%7) + float64(i%2)*0x1p60)
		}
	}
	path := filepath.Join(t.TempDir(), "clicks.parquet")
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	data := job.Data{Kind: job.KindParquet, Path: path, Parquet: &job.Table{Label: "click",
		Slots: []job.IDColumn{{Column: "user"}, {Column: "tags"}, {Column: "new"}, {Column: "shop"},
			{Column: "maker", Whole: true}},
		Numeric: []string{"price", "paid"}, Missing: []string{"", "NaN"}}}
	from := trained(t, data, func(*job.Job) {})
	program := filepath.Join(exported(t, from, export.Parquet), export.ProgramFile)
	got := strings.Fields(string(python.Run(t, nil, program, path)))
	compare(t, got[1:], predictions(t, from, path), 1)

	text := filepath.Join(t.TempDir(), "clicks.csv")
	const written = "user,tags,new,shop,maker,price,paid\nu1,a,1,4,9,2,1\n"
	if err := os.WriteFile(text, []byte(written), 0o644); err != nil {
		t.Fatal(err)
	}
	complain(t, python, program, text, "a csv file; the model was trained on parquet")
}

// A file that cannot be predicted is one line of an error.
func TestPythonNamesWhatIsWrong(t *testing.T) {
	python := pythontest.With(t, "numpy, pyarrow, onnxruntime")
	program := filepath.Join(exported(t, trained(t, table(t), func(*job.Job) {}), export.Parquet),
		export.ProgramFile)
	for text, want := range map[string]string{
		"user,price,at\nu1,1,2\n":                  "no column 'tags': the file has ['user', 'price', 'at']",
		"user,tags,price,at,paid\nu1,t1,1\n":       "some.csv:2: 3 fields, want 5",
		"user,tags,price,at,paid\nu,t,1,early,1\n": "column at: 'early' is not a number",
		"user,tags,price,at,paid\nu,t,1,-inf,1\n":  "column at: '-inf' is not a finite 32-bit number",
		"user,tags,price,at,paid\nu,t,nan,1,1\n":   "column price: 'nan' is not a finite 32-bit number",
		"user,tags,price,at,paid\nu,t,1,1,5 kg\n":  "column paid: '5 kg' is not a number",
		"user,tags,price,at,paid\nu,t,1,1,1_0\n":   "column paid: '1_0' is not a number",
		"user,tags,price,at,paid\nu,t,1,1,1'00\n":  "column paid: \"1'00\" is not a number",
		"\x1f\x8b\x08": "ended before the end-of-stream marker was reached",
		"":             "some.csv: no column 'user': the file has []",
		"PAR1\x15":     "a parquet file; the model was trained on csv",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "some.csv")
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			complain(t, python, program, path, want)
		})
	}
	missing := filepath.Join(t.TempDir(), "missing.csv")
	complain(t, python, program, "/dev/stdin", "/dev/stdin: a pipe, and this program reads files")
	complain(t, python, program, missing, fmt.Sprintf("No such file or directory: '%s'", missing))
}

// complain checks that the Python program ends with a line of an error.
func complain(t *testing.T, python pythontest.Python, program, path, want string) {
	t.Helper()
	command := exec.Command(string(python), program, path)
	var stderr strings.Builder
	command.Stdin, command.Stderr = strings.NewReader("user\n"), &stderr
	err := command.Run()
	got := strings.TrimSuffix(stderr.String(), "\n")
	if err == nil || !strings.HasSuffix(got, want) || strings.Contains(got, "\n") {
		t.Errorf("%s: error %v, %q, want %q", path, err, got, want)
	}
}

// A Parquet file has the rows that have been trained, each once, with the values that predictions use, hot or
// not.
func TestParquetHasTheTrainedRows(t *testing.T) {
	data := table(t)
	data.Derived, data.Means = nil, nil // so that the rows can be counted
	for _, share := range []float64{0, 0.1} {
		compareParquet(t, trained(t, data, func(j *job.Job) { j.Rows.Hot.Share = share }))
	}
}

// compareParquet compares the rows of an export with those of its model.
func compareParquet(t *testing.T, from string) {
	got, err := parquet.ReadFile[struct {
		Sign      uint64    `parquet:"sign"`
		Embedding []float32 `parquet:"embedding,list"`
	}](filepath.Join(exported(t, from, export.Parquet), export.RowsFile(export.Parquet)))
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, from)
	if len(got) != 23+5 {
		t.Errorf("%d rows, want those of 23 users and 5 tags", len(got))
	}
	want := make([]float32, rows.Dims()[0])
	for _, row := range got {
		missing, err := rows.Read([]uint64{row.Sign}, want)
		if err != nil || missing != 0 || !slices.Equal(row.Embedding, want) {
			t.Errorf("row %#x is %v, want %v, error %v", row.Sign, row.Embedding, want, err)
		}
	}
}

// A folder that exists is left as it is, and after an error nothing is left.
func TestExportIsCompleteOrNotThere(t *testing.T) {
	m, err := checkpoint.Open(trained(t, table(t), func(*job.Job) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	folder := t.TempDir()
	full := filepath.Join(folder, "full")
	if err := os.Mkdir(full, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := export.Write(full, m, export.Parquet, backend.Backend{}); err == nil ||
		!strings.Contains(err.Error(), "full exists: remove it") {
		t.Error(err)
	}
	if _, _, err := export.Write(filepath.Join(folder, "new"), m, "csv", backend.Backend{}); err == nil {
		t.Error("rows as csv")
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v are left: %v", entries, err)
	}
}

// Rows of one length are one file, whichever setting gives them the length. Slots that differ have a file for
// each length, in either format, with the trained rows of that length, and the Python program predicts with
// them what the model does.
func TestExportOfDimensionsBySlot(t *testing.T) {
	train := func(data job.Data) string {
		return trained(t, data, func(j *job.Job) { j.Model.EmbeddingDim = 16 })
	}
	data := table(t)
	data.Derived, data.Means = nil, nil
	data.Slots = []job.SlotSetting{{Slot: "user", Dim: 8}, {Slot: "tags", Dim: 8, Precision: "fp16"}}
	folder := exported(t, train(data), export.Parquet)
	if _, err := os.Stat(filepath.Join(folder, export.RowsFile(export.Parquet))); err != nil {
		t.Error(err)
	}
	data.Slots = []job.SlotSetting{{Slot: "user", Dim: 3, HashStack: batch.HashStack{Rounds: 2, Rows: 50}},
		{Slot: "tags", Dim: 8, Raw: 3}}
	from := train(data)
	compareDims(t, from)
	for _, c := range [][2]string{{export.Parquet, "numpy, pyarrow, onnxruntime"},
		{export.Safetensors, "numpy, onnxruntime"}} {
		t.Run(c[0], func(t *testing.T) {
			python, folder := pythontest.With(t, c[1]), exported(t, from, c[0])
			got := strings.Fields(string(python.Run(t, nil, filepath.Join(folder, export.ProgramFile),
				data.Path)))
			compare(t, got[1:], predictions(t, from, data.Path), 1)
		})
	}
}

// compareDims compares the rows of an export of 3 and of 8 values with those of its model.
func compareDims(t *testing.T, from string) {
	t.Helper()
	folder := exported(t, from, export.Parquet)
	rows := rowsOf(t, from)
	want := map[uint64][]float32{}
	for sign, embedding := range rows.Trained() {
		want[sign] = slices.Clone(embedding)
	}
	for _, dim := range []int{3, 8} {
		got, err := parquet.ReadFile[struct {
			Sign      uint64    `parquet:"sign"`
			Embedding []float32 `parquet:"embedding,list"`
		}](filepath.Join(folder, export.DimFile(export.Parquet, dim)))
		if err != nil || len(got) == 0 {
			t.Errorf("%d rows of %d values, error %v", len(got), dim, err)
		}
		for _, row := range got {
			if len(row.Embedding) != dim || !slices.Equal(row.Embedding, want[row.Sign]) {
				t.Errorf("row %#x is %v, want %v", row.Sign, row.Embedding, want[row.Sign])
			}
			delete(want, row.Sign)
		}
	}
	if len(want) != 0 {
		t.Errorf("%d rows are in no file", len(want))
	}
}

// A module that the Python of an exported model lacks is named in one line, with what to do.
func TestExportedProgramNamesWhatItsPythonLacks(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	program, err := filepath.Abs("predict.py")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("predict.py", string(text))
	write("columns.json", `{"labels": ["y"], "dim": 1}`)
	fails := func(want string) {
		t.Helper()
		// -S leaves out the packages that are installed, but not those beside the program.
		command := exec.Command(python, "-S", filepath.Join(folder, "predict.py"), "rows")
		command.Env = append(os.Environ(), "PYTHONPATH=") // -S does not leave its folders out
		out, err := command.CombinedOutput()
		if got := string(out); err == nil || got != want {
			t.Errorf("%q, error %v; want %q", got, err, want)
		}
	}
	fails("predict.py: this Python has no numpy: install it, as by pip install numpy\n")
	write("numpy.py", "class finfo:\n    max = 1.0\n    def __init__(self, kind): pass\nfloat32 = None\n")
	fails("predict.py: this Python has no onnxruntime: install it, as by pip install onnxruntime (--torch " +
		"computes in PyTorch instead)\n")
}
