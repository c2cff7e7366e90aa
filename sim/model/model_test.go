package model

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/sim/param"
	"tandem/sim/preset"
)

func mustLoad(t testing.TB, name string) *Model {
	t.Helper()
	m, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEveryBuiltInModelLoads(t *testing.T) {
	if n := len(Models.Names()); n != 12 {
		t.Errorf("%d models, want 12", n)
	}
	for _, name := range Models.Names() {
		m := mustLoad(t, name)
		if m.Name != name {
			t.Errorf("file %s holds model %s", name, m.Name)
		}
		l := m.Layout()
		covered, at := 0, l.Params
		for _, b := range l.Buckets {
			if b.Hi != at || b.Lo >= b.Hi {
				t.Errorf("%s: bucket %v, want one that ends at %d", name, b, at)
			}
			covered, at = covered+b.Hi-b.Lo, b.Lo
		}
		if covered != l.Params || l.Tensors[len(l.Tensors)-1].Hi != l.Params {
			t.Errorf("%s: buckets cover %d of %d parameters", name, covered, l.Params)
		}
	}
}

// The published totals: Persia's table 1, and what MLPerf's reference says of its tables.
func TestModelsHaveThePublishedSizes(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		sparse, sparseSlack    float64 // values of rows
		dense, denseSlack, ids float64
	}{
		{"criteo", 540e6, 1e-4, 12.9e6, 0.005, 26},
		{"avazu", 134e6, 1e-4, 12e6, 0.08, 22},
		{"taobao", 29e6, 1e-4, 12e6, 0.08, 15},
		{"kwai-video", 2e12, 1e-9, 34e6, 1e-3, 100},
		{"criteo-syn-6t", 6.25e12, 1e-6, 12e6, 0.08, 26},
		{"criteo-syn-100t", 100e12, 1e-6, 12e6, 0.08, 26},
		{"mlperf-dlrm", 204184588 * 128, 0, 2.3e6, 0.05, 26},
		{"mlperf-dcnv2", 204184588 * 128, 0, 16.03e6, 0.002, 214},
		{"neo-12t", 12e12, 1e-9, 2.5e6, 0.03, 6000},
	} {
		m := mustLoad(t, tt.name)
		size, dense := m.Size(m.Precisions.Rows), float64(m.Network().Parameters())
		if math.Abs(size.Parameters/tt.sparse-1) > tt.sparseSlack {
			t.Errorf("%s: %v values of rows, want %v", tt.name, size.Parameters, tt.sparse)
		}
		if math.Abs(dense/tt.dense-1) > tt.denseSlack {
			t.Errorf("%s: %v dense parameters, want %v", tt.name, dense, tt.dense)
		}
		if size.IDs != tt.ids {
			t.Errorf("%s: %v ids a sample, want %v", tt.name, size.IDs, tt.ids)
		}
	}
}

// By hand: bottom 13·512 + 512·256 + 256·128 = 0.17 M, cross 3 · 2 · 3456 · 512 = 10.6 M,
// top 3456·1024 + 1024² + 1024·512 + 512·256 + 256 = 5.24 M multiply-adds.
func TestWorkOfDCNv2(t *testing.T) {
	n := mustLoad(t, "mlperf-dcnv2").Network()
	const products = 13*512 + 512*256 + 256*128 + 3*2*3456*512 +
		3456*1024 + 1024*1024 + 1024*512 + 512*256 + 256
	if got := n.ForwardFLOPs(); got != 2*products {
		t.Errorf("forward %v, want %v", float64(got), 2*products)
	}
	// The first layer's input has no gradient.
	if got := n.BackwardFLOPs(); got != 4*products-2*13*512 {
		t.Errorf("backward %v, want %v", float64(got), 4*products-2*13*512)
	}
}

func TestWorkOfDLRMsInnerProducts(t *testing.T) {
	n := mustLoad(t, "mlperf-dlrm").Network()
	if n.Out != 128+27*26/2 || n.Top[0].In != n.Out || n.Pairs.ForwardFLOPs() != 2*27*27*128 {
		t.Errorf("the interaction writes %d values with %v", n.Out, float64(n.Pairs.ForwardFLOPs()))
	}
}

// 100 values of two tables, their means of 7 and a numeric feature: 15 + 1 values enter the top layers.
func TestPoolNarrowsTheEmbeddings(t *testing.T) {
	text := `{name: pool, source: test, date: "2020", dim: 50, exponent: 1, numeric: 1, batch: {global: 1},
		tables: [{name: a, rows: 10, count: 2}], dense: {interaction: pool, stride: 7, top: [4, 1]},
		precisions: {compute: fp32, rows: fp32, activations: fp32, wire: fp32, gradients: fp32},
		optimizers: {rows: sgd, dense: sgd}}`
	load := func(text string) (*Model, error) {
		file := filepath.Join(t.TempDir(), "m.yaml")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "\t", "")), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(file)
	}
	m, err := load(text)
	if err != nil {
		t.Fatal(err)
	}
	n := m.Network()
	if n.Joined != 101 || n.Out != 16 || n.Pooled != 117 || n.Top[0].In != 16 || n.Values() != 101+16+5 {
		t.Errorf("network = %+v with %d values", n, n.Values())
	}
	// The join, two products, an activation function, the means and the loss; all but the loss read and write
	// what stands here.
	if c := m.Layout().Cost; c.Kernels != 6 || c.ActivationBytes != 4*(2*101+(16+4)+2*4+(4+1)+(101+16)) {
		t.Errorf("cost = %+v", c)
	}
	for _, c := range []struct{ old, new, want string }{
		{"stride: 7", "stride: 0", "stride = 0"},
		{"interaction: pool", "interaction: concat", "stride without"},
	} {
		if _, err := load(strings.Replace(text, c.old, c.new, 1)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.new, err, c.want)
		}
	}
}

func TestBytesFollowThePrecision(t *testing.T) {
	m := mustLoad(t, "criteo-syn-100t")
	if s := m.Size(Float16); math.Abs(s.RowBytes/200e12-1) > 1e-6 || s.StateBytes != 0 {
		t.Errorf("fp16: %v and %v bytes, want 200 TB and 0", s.RowBytes, s.StateBytes)
	}
	if s := m.Size(Float32); math.Abs(s.RowBytes/400e12-1) > 1e-6 {
		t.Errorf("fp32: %v bytes, want 400 TB", s.RowBytes)
	}
	table := Table{Dim: 16}
	for o, want := range map[Optimizer]int64{SGD: 32, Adagrad: 96, RowWiseAdagrad: 36, Adam: 160} {
		if got := table.RowBytes(BFloat16, o); int64(got) != want {
			t.Errorf("row with %s: %d bytes, want %d", o, got, want)
		}
	}
}

func TestOnlyUnpublishedNumbersAreParameters(t *testing.T) {
	m := mustLoad(t, "neo-12t")
	v := param.Collect("model", m)
	var ranges []string
	for _, e := range v {
		if !e.Known() {
			ranges = append(ranges, e.Name)
		}
	}
	want := "model.count model.dim model.ids model.exponent model.dense.parameters model.dense.layers"
	if got := strings.Join(ranges, " "); got != want {
		t.Errorf("ranges of %s, want %s", got, want)
	}
	if _, source, _ := m.Parameters.Origin(); source != m.Source {
		t.Errorf("a plain number has source %q", source)
	}
	if err := v.Set("model.count", "20", "--set"); err != nil || len(m.Tables()) != 20 {
		t.Errorf("%d tables after setting 20, error %v", len(m.Tables()), err)
	}
}

// A stack of a published number of parameters has it at every depth, taper and input, as in Kwai's video
// model, of which no layer is published.
func TestStacksOfEveryShapeHaveTheirParameters(t *testing.T) {
	for _, c := range []struct {
		layers, taper string
		want          []int // widths relative to the first
	}{
		{"6", "1", []int{1, 1, 1, 1, 1}}, {"6", "0.5", []int{16, 8, 4, 2, 1}}, {"5", "0.7", nil},
		{"8", "0.8", nil}, {"2", "0.5", []int{1}},
	} {
		m := mustLoad(t, "kwai-video")
		v := param.Collect("model", m)
		for name, value := range map[string]string{"layers": c.layers, "taper": c.taper} {
			if err := v.Set("model.dense."+name, value, "--set"); err != nil {
				t.Fatal(err)
			}
		}
		n := m.Network()
		if got := float64(n.Parameters()); math.Abs(got/34e6-1) > 1e-3 {
			t.Errorf("%s layers, taper %s: %v parameters, want 34e6", c.layers, c.taper, got)
		}
		for i, want := range c.want {
			last := len(c.want) - 1
			got := float64(n.Top[i].Out) / float64(n.Top[last].Out) * float64(c.want[last])
			if math.Abs(got-float64(want)) > 0.1 {
				t.Errorf("%s layers, taper %s: layer %d is %v, want %d", c.layers, c.taper, i, got, want)
			}
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	good, err := Models.Text("mlperf-dlrm")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"rows: 39060", "rows: 0", "tables[1] C2: rows = 0"},
		{"rows: 39060", "rows: 39060, ids: -1", "tables[1] C2: count, dim, ids"},
		{"rows: 39060", "rows: 39060, dim: 64", "table C2"},
		{"interaction: dot", "interaction: dto", `interaction = "dto"`},
		{"dim: 128", "dim: 0", "no dim"},
		{"256, 1]", "256, 2]", "number of labels"},
		{"compute: half", "compute: int8", "precisions.compute"},
		{"global: 65536", "global: 65536, per-gpu: 1", "batch"},
		{"rows: sgd", "rows: lion", "optimizers.rows"},
		{"kind: guessed", "kin: guessed", `unknown key "kin"`},
		{"high: 1.24", "high: 0.5", "exponent"},
		{"rows: 39060", "rows: 39060, popularity: {pieces: [{rows: 0.1, ids: 0.2}]}", "add up to"},
		{"rows: 39060", "rows: 9007199254740993e3", "tables[1] C2: rows = 9.0"},
		{"rows: 39060", "rows: 39060, popularity: {exponent: 10.1}", "exponent = 10.1; want 0 to 10"},
		{"rows: 39060", "rows: 39060, popularity: {exponent: -0.1}", "exponent = -0.1"},
		{"rows: 39060", "rows: 39060, popularity: {exponent: 1, top: 1}", "top = 1; want"},
		{"rows: 39060", "rows: 39060, popularity: {exponent: 1, top: -0.1}", "top = -0.1"},
		{"rows: 39060", "rows: 39060, popularity: {top: 0.1, pieces: [{rows: 1, ids: 1}]}",
			"pieces and an exponent or top"},
		{"rows: 39060", "rows: 39060, popularity: {exponent: 1, pieces: [{rows: 1, ids: 1}]}",
			"pieces and an exponent or top"},
		{"rows: 39060", "rows: 39060, popularity: {pieces: [{rows: 1, ids: 1}, {rows: 0, ids: 0}]}",
			"pieces[1]: rows, ids = 0, 0; want more than 0"},
		{"rows: 39060", "rows: 39060, popularity: {pieces: [{rows: 0.6, ids: 0.4}, {rows: 0.4, ids: 0.6}]}",
			"pieces[1] is more popular"},
		{"rows: 39060", "rows: 39060, popularity: {pieces: [{rows: 0.5, ids: 0.9}, {rows: 0.5, ids: 0.2}]}",
			"add up to"},
		{"interaction: dot", "interaction: dot\n  cross-layers: 1", `cross-rank without interaction "cross"`},
		{"interaction: dot", "interaction: dot\n  cross-rank: 1", `cross-rank without interaction "cross"`},
		{"interaction: dot", "interaction: cross\n  cross-rank: 1", "cross-layers, cross-rank = 0, 1"},
		{"interaction: dot", "interaction: cross\n  cross-layers: 1", "cross-layers, cross-rank = 1, 0"},
		{"interaction: dot", "interaction: pool", "stride = 0; want at least 1"},
		{"interaction: dot", "interaction: dot\n  stride: 1", `stride without interaction "pool"`},
		{"interaction: dot", "interaction: dot\n  parameters: 1000000", "one of parameters and layers"},
		{"interaction: dot", "interaction: dot\n  parameters: 1000000\n  layers: 3",
			"want either top, or parameters and layers"},
		{"interaction: dot", "interaction: dot\n  taper: 0.5", "taper without parameters and layers"},
		{"256, 1]", "0, 1]", "a layer has no width"},
		{"dense: sgd", "dense: row-wise-adagrad", `optimizers.dense = "row-wise-adagrad"`},
		{"wire: fp16", "wire: int8", `precisions.wire = "int8"`},
		{"high: 1.24", "high: 10.1", "exponent: high = 10.1; want at most 10"},
		{"numeric: 13", "numeric: -1", "numeric, labels = -1, 1"},
		{"numeric: 13", "numeric: 13\nlabels: -1", "number of labels"},
		{"name: mlperf-dlrm", "", "no name"},
	} {
		text := strings.Replace(string(good), tt.old, tt.new, 1)
		if text == string(good) {
			t.Fatalf("%q is not in the profile", tt.old)
		}
		file := filepath.Join(t.TempDir(), "m.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(file)
		if err == nil || !errors.Is(err, preset.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.new, err, tt.want)
		}
	}
	if _, err := Load("mlperf-dnc"); err == nil || !strings.Contains(err.Error(), "mlperf-d") {
		t.Errorf("unknown model: %v", err)
	}
}

// The ends of every range are in it.
func TestEndsOfRangesAreValid(t *testing.T) {
	exponent := func(x float64) *float64 { return &x }
	for _, p := range []Popularity{
		{Exponent: exponent(0)}, {Exponent: exponent(exponentMax)},
		{Pieces: []Piece{{Rows: 0.5, IDs: 0.5}, {Rows: 0.5, IDs: 0.5}}}, // equally popular
		{Pieces: []Piece{{Rows: 0.5, IDs: 1 - 1e-7}, {Rows: 0.5, IDs: 1e-7 + 1e-8}}},
	} {
		if err := p.Validate(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	m := mustLoad(t, "mlperf-dlrm")
	m.Groups[0].Rows, m.Groups[1].Rows, m.Exponent.High, m.Numeric = rowsMax, 1, exponentMax, 0
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	m.Dense = Dense{Interaction: Cross, CrossLayers: 1, CrossRank: 1, Top: []int{1, 1}}
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	m.Dense = Dense{Interaction: Pool, Stride: 1, Top: []int{1}}
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	if m.Dense.Top[0] = 0; m.Validate() == nil {
		t.Error("a layer of width 0 is accepted")
	}
}
