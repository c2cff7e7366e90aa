package model

import (
	"reflect"
	"testing"

	"tandem/algo/numeric/model"
	"tandem/algo/unit"
)

// Each part of a program has its work: products have a matrix, and all others read and write values. What
// depends on embeddings, over however many parts, is of the top.
func TestPartsOfAProgram(t *testing.T) {
	widths := make([]int, 12)
	widths[model.PooledValue], widths[model.NumbersValue] = 40, 13
	const first = 3 // of the values that parts make
	if model.PooledValue >= first || model.NumbersValue >= first {
		t.Fatal("the values of parts begin later")
	}
	dense := []int{model.NumbersValue}
	pooled := []int{model.PooledValue}
	for _, c := range []struct {
		name  string
		part  model.ProgramPart
		width int // of what it makes
		want  Network
		top   bool // a layer behind it depends on embeddings
	}{
		{"layer of numbers", model.LayerPart{Inputs: dense, In: 13, Out: 8, Bias: 5, ReLU: true}, 8,
			Network{Bottom: []Product{{"layer1", 13, 8, 8, true, true}}}, false},
		{"layer of embeddings without bias", model.LayerPart{Inputs: pooled, In: 40, Out: 8, Bias: -1}, 8,
			Network{Top: []Product{{"layer1", 40, 8, 0, false, false}}}, true},
		{"layer of both", model.LayerPart{Inputs: append(dense, pooled...), In: 53, Out: 8, Bias: 0}, 8,
			Network{Top: []Product{{"layer1", 53, 8, 8, false, false}}, Joined: 53}, true},
		{"batch norm", model.LayerPart{Inputs: dense, In: 13, Out: 8, Bias: 0, Norm: true}, 8,
			Network{Bottom: []Product{{"layer1", 13, 8, 24, false, true}}, Others: []Other{{"layer1 norm",
				16}}},
			false},
		{"nothing", model.LayerPart{Inputs: dense, In: 0, Out: 8, Bias: 0}, 8, Network{}, false},
		{"join", model.JoinPart{Inputs: pooled}, 53, Network{Joined: 53}, true},
		{"join of numbers", model.JoinPart{Inputs: dense}, 13, Network{Joined: 13}, false},
		{"sum", model.SumPart{Inputs: []int{model.NumbersValue, model.PooledValue, model.NumbersValue}}, 1,
			Network{Others: []Other{{"sum", 4}}}, true},
		{"gate", model.GatePart{X: model.NumbersValue, Y: model.NumbersValue, Z: model.PooledValue}, 7,
			Network{Others: []Other{{"gate", 28}}}, true},
		{"gate of numbers", model.GatePart{X: model.NumbersValue, Y: model.NumbersValue,
			Z: model.NumbersValue},
			7, Network{Others: []Other{{"gate", 28}}}, false},
		{"interaction", model.InteractionPart{Input: model.PooledValue, Dim: 8, Count: 5}, 10,
			Network{Pairs: Pairs{5, 8}, Out: 10}, true},
		{"linear part", model.LinearPart{Rows: []int{0, 9, 17}, Heads: 2}, 2,
			Network{Bottom: []Product{{"linear", 13, 2, 2, false, true}}, Others: []Other{{"weights of ids",
				8}}},
			true},
		{"factors", model.FactorsPart{Dim: 8, Rows: []int{0, 9, 17}}, 100,
			Network{Bottom: []Product{{"factors", 13, 8, 0, false, true}},
				Others: []Other{{"vectors", 8*3 + 13 + 100}}}, true},
		{"sum of pairs", model.PairSumPart{Input: model.PooledValue, Dim: 8}, 1,
			Network{Others: []Other{{"sum of pairs", 41}}}, true},
		{"sum of pairs of numbers", model.PairSumPart{Input: model.NumbersValue, Dim: 8}, 1,
			Network{Others: []Other{{"sum of pairs", 14}}}, false},
	} {
		v := reflect.New(reflect.TypeOf(c.part)).Elem()
		v.Set(reflect.ValueOf(c.part))
		v.FieldByName("Output").SetInt(first)
		widths[first] = c.width
		behind := model.LayerPart{Inputs: []int{first}, In: c.width, Out: 1, Bias: -1, Output: first + 1}
		widths[first+1] = 1
		program := &model.Program{Widths: widths,
			Parts: []model.ProgramPart{v.Interface().(model.ProgramPart), behind}}
		last := Product{"layer2", c.width, 1, 0, false, false}
		if c.top {
			c.want.Top = append(c.want.Top, last)
		} else {
			c.want.Bottom = append(c.want.Bottom, last)
		}
		if got := NewNetwork(program); !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, *got, c.want)
		}
	}
}

// The last layers fill the first bucket, of 1 MiB, and others those of 25 MiB; a bucket ends with the layer
// that fills it.
func TestBucketsEndWithTheLayerThatFillsThem(t *testing.T) {
	const mib = 1 << 18 // parameters
	of := func(params ...int) *Network {
		n := &Network{}
		for _, p := range params {
			n.Top = append(n.Top, Product{In: p, Out: 1})
		}
		return n
	}
	for _, c := range []struct {
		layers []int
		want   []model.Bucket
	}{
		{[]int{10, 20}, []model.Bucket{{Lo: 0, Hi: 30}}},
		{[]int{7, 5, mib}, []model.Bucket{{Lo: 12, Hi: 12 + mib}, {Lo: 0, Hi: 12}}},
		{[]int{7, 5, mib - 1}, []model.Bucket{{Lo: 7, Hi: 11 + mib}, {Lo: 0, Hi: 7}}},
		{[]int{3, 24 * mib, mib, 2 * mib}, []model.Bucket{{Lo: 3 + 25*mib, Hi: 3 + 27*mib},
			{Lo: 3, Hi: 3 + 25*mib}, {Lo: 0, Hi: 3}}},
		{[]int{3, 24 * mib, mib - 1, 2 * mib}, []model.Bucket{{Lo: 2 + 25*mib, Hi: 2 + 27*mib},
			{Lo: 0, Hi: 2 + 25*mib}}},
	} {
		if got := of(c.layers...).Buckets(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v, want %v", c.layers, got, c.want)
		}
	}
}

// A sample moves the values of each part: the join twice, products their inputs and outputs and, if they are
// activated, outputs twice more, an interaction its inputs and outputs, each cross layer four times the join.
func TestActivationsOfASample(t *testing.T) {
	for _, name := range []string{"mlperf-dlrm", "mlperf-dcnv2", "criteo"} {
		m := mustLoad(t, name)
		n := m.Network()
		values, kernels, params := 2*n.Joined, 2, 0
		tensors := 0
		for _, p := range n.Products() {
			values, kernels, params, tensors = values+p.In+p.Out, kernels+1, params+p.In*p.Out+p.Bias,
				tensors+1
			if p.Bias != 0 {
				tensors++
			}
			if p.Activated {
				values, kernels = values+p.Out+p.Out, kernels+1
			}
		}
		if n.Pairs.Vectors != 0 || n.Pooled != 0 {
			values, kernels = values+n.Joined+n.Out, kernels+1
		}
		for i := 0; i < len(n.Cross); i += 2 {
			values, kernels = values+4*n.Joined, kernels+1
		}
		l := m.Layout()
		if l.Cost.ActivationBytes != unit.Bytes(4*values) || l.Cost.Kernels != kernels ||
			l.Params != params ||
			len(l.Tensors) != tensors || l.Tensors[tensors-1].Hi != params {
			t.Errorf("%s: %v of activations, %d kernels, %d parameters in %d tensors; want %d, %d, %d, %d",
				name,
				l.Cost.ActivationBytes, l.Cost.Kernels, l.Params, len(l.Tensors), 4*values, kernels, params,
				tensors)
		}
		if name == "mlperf-dcnv2" && len(n.Cross) == 0 {
			t.Errorf("%s: no cross layers", name)
		}
	}
}

// A table gives the network a vector, or one for each id of a sequence, and of a number of samples each
// distinct row of all their ids.
func TestWhatATableGives(t *testing.T) {
	m := mustLoad(t, "mlperf-dlrm")
	table := m.Tables()[0]
	table.IDs, table.Dim = 3, 16
	for sequence, want := range map[bool]float64{false: 16, true: 48} {
		if table.Sequence = sequence; table.Values() != want {
			t.Errorf("sequence %v: %v values, want %v", sequence, table.Values(), want)
		}
	}
	if got, want := table.Distinct(100), table.Frequencies.Distinct(300); got != want {
		t.Errorf("%v distinct rows of 100 samples, want %v of 300 ids", got, want)
	}
	all := 0.0
	for _, each := range m.Tables() {
		all += each.Distinct(50)
	}
	if got := m.Distinct()(50); got != all {
		t.Errorf("%v distinct rows in all tables, want %v", got, all)
	}
}

// A model has a batch of its own, or one for each accelerator.
func TestDefaultBatches(t *testing.T) {
	for _, c := range []struct{ global, perGPU, want int }{{1000, 0, 1000}, {1, 0, 1}, {0, 64, 512}} {
		m := &Model{}
		m.Batch.Global, m.Batch.PerGPU = c.global, c.perGPU
		if got := m.GlobalBatch(8); got != c.want {
			t.Errorf("%+v: %d on 8 accelerators", c, got)
		}
	}
}
