package onnx

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tandem/algo/numeric/model"
	"tandem/algo/rng"
	"tandem/internal/moduletest"
	"tandem/internal/pythontest"
)

// linear is a network of the stub with values.
func linear(width, numbers, labels int) (graph []byte, layout model.Layout, values model.Values) {
	n := labels * (width + numbers)
	draw := rng.New(3, "linear")
	for range n {
		values.Params = append(values.Params, float32(draw.NormFloat64()))
	}
	return moduletest.GraphOf(width, numbers, labels, nil), model.Layout{EmbeddingWidth: width,
		DenseWidth: numbers, Labels: labels, Params: n}, values
}

// open opens onnxruntime, or skips the test.
func open(t *testing.T) *Library {
	t.Helper()
	l, err := Open(pythontest.ONNXRuntime(t))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A graph predicts groups of any size, also several goroutines at once, and after others were forgotten.
func TestGraphsPredict(t *testing.T) {
	l := open(t)
	for _, shape := range [][3]int{{4, 2, 1}, {3, 0, 2}} {
		graph, layout, values := linear(shape[0], shape[1], shape[2])
		e, err := l.Engine(graph, layout, values)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for seed := range uint64(4) {
			all.Go(func() {
				pass, draw := e.NewPass(300), rng.New(seed, "inputs")
				for _, samples := range []int{1, 300, 0, 7} {
					in := model.Input{Samples: samples}
					for range samples {
						for range layout.EmbeddingWidth {
							in.Embeddings = append(in.Embeddings, float32(draw.NormFloat64()))
						}
						for range layout.DenseWidth {
							in.Dense = append(in.Dense, float32(draw.NormFloat64()))
						}
					}
					logits, _ := pass.Forward(nil, nil, in, false)
					checkLinear(t, logits, &layout, values.Params, in)
				}
				if err := pass.(interface{ Err() error }).Err(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// checkLinear compares logits with those of a plain loop.
func checkLinear(t *testing.T, logits []float32, l *model.Layout, weights []float32, in model.Input) {
	if len(logits) != in.Samples*l.Labels {
		t.Errorf("%d logits of %d samples", len(logits), in.Samples)
		return
	}
	width := l.EmbeddingWidth + l.DenseWidth
	for i := range logits {
		sample, label := i/l.Labels, i%l.Labels
		want := 0.0
		for k := range l.EmbeddingWidth {
			want += float64(weights[label*width+k] * in.Embeddings[sample*l.EmbeddingWidth+k])
		}
		for k := range l.DenseWidth {
			want += float64(weights[label*width+l.EmbeddingWidth+k] * in.Dense[sample*l.DenseWidth+k])
		}
		if math.Abs(float64(logits[i])-want) > 1e-5 {
			t.Errorf("logit %d of %d samples is %g, want %g", i, in.Samples, logits[i], want)
			return
		}
	}
}

// What onnxruntime cannot compute, or computes in another shape, is an error of one line when it is loaded.
func TestGraphsThatDoNotFitAreRefused(t *testing.T) {
	l := open(t)
	graph, layout, values := linear(4, 2, 1)
	narrow, several := layout, layout
	narrow.EmbeddingWidth, several.Labels = 3, 2
	beyond := func(w *moduletest.Weights) { w.Offset = 4 }
	unknown := []byte(strings.Replace(string(graph), "Gemm", "Gone", 1))
	for words, c := range map[string]struct {
		graph  []byte
		layout model.Layout
	}{
		"Gone":                           {unknown, layout},
		"embeddings":                     {graph, narrow},
		"logits":                         {graph, several},
		`its tensor "weights": 6 values`: {moduletest.GraphOf(4, 2, 1, beyond), layout},
		errGraph.Error():                 {[]byte{}, layout},
	} {
		_, err := l.Engine(c.graph, c.layout, values)
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, words)
		}
	}
}

// What is no onnxruntime is an error.
func TestOtherLibrariesAreRefused(t *testing.T) {
	if _, err := Open("/absent/libonnxruntime.so"); err == nil {
		t.Error("a library that is not there was opened")
	}
	text := filepath.Join(t.TempDir(), "libonnxruntime.so")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(text); err == nil {
		t.Error("a text was opened")
	}
}

// A pass says once why samples could not be computed, so that later ones can be.
func TestAnErrorIsSaidOnce(t *testing.T) {
	why := errors.New("a value is none")
	p := &pass{err: why}
	if first, second := p.Err(), p.Err(); first != why || second != nil {
		t.Errorf("%v, then %v", first, second)
	}
}
