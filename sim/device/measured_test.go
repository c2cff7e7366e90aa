package device

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/quantity"
	"tandem/algo/unit"
)

// exactly is a time without a range.
func exactly(t unit.Nanos) MeasuredTime { return MeasuredTime{t, t, t} }

// byHand has a launch of 1 µs and times that follow from these shares, with the launch added:
//
//	half, of 100 TFLOP/s:     1 GFLOP in 50 µs (0.2), 10 in 200 µs (0.5), 100 in 1250 µs (0.8)
//	tf32, of 50 TFLOP/s:      10 GFLOP in 400 µs (0.5)
//	fp32, of 10 TFLOP/s:      1 GFLOP in 125 µs (0.8), 10 in 1000 µs (1)
//	streams, of 1000 GB/s:    1 MB in 4 µs (0.25), 100 MB in 125 µs (0.8)
//	rows, of 1000 GB/s:       1 MB of 32 B in 10 µs (0.1), of 256 B in 2 µs (0.5)
func byHand() *MeasuredAccelerator {
	product := func(p Precision, flops unit.FLOPs, t unit.Nanos) MeasuredProduct {
		return MeasuredProduct{p, flops, exactly(t)}
	}
	return &MeasuredAccelerator{
		Name: "own", Source: "a test", Date: "2026-11-24", Memory: 16e9, Units: 80, Cache: 6e6,
		Bandwidth: 1e12, PeakFP32: 10e12, Launch: exactly(1000),
		Products: []MeasuredProduct{product(Half, 10e9, 201e3), product(Half, 1e9, 51e3),
			product(Half, 100e9, 1251e3), product(TF32, 10e9, 401e3), product(FP32, 1e9, 126e3),
			product(FP32, 10e9, 1001e3)},
		Streams: []MeasuredTraffic{{0, 1e6, exactly(5e3)}, {0, 100e6, exactly(126e3)}},
		Rows:    []MeasuredTraffic{{32, 1e6, exactly(11e3)}, {256, 1e6, exactly(3e3)}},
	}
}

// peaks is a like profile that knows the peaks which byHand's times are of.
func peaks() *AcceleratorProfile {
	peak := func(x unit.FLOPsPerSec) quantity.Value[unit.FLOPsPerSec] {
		return quantity.Value[unit.FLOPsPerSec]{Mid: x, Kind: quantity.Default, Source: "sheet", Date: "2020"}
	}
	return &AcceleratorProfile{PeakFP32: peak(10e12), PeakTF32: peak(50e12), PeakHalf: peak(100e12),
		MemoryBandwidth: quantity.Value[unit.BytesPerSec]{Mid: 5e12, Kind: quantity.Default, Source: "sheet",
			Date: "2020"},
		Inside: "nvlink3", HostLink: "pcie4-x16", Port: "nvlink"}
}

func profileOf(t *testing.T, m *MeasuredAccelerator, like *AcceleratorProfile) *AcceleratorProfile {
	t.Helper()
	p, err := m.Profile(like)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The curves are those that the times were made of, and the model takes as long as was measured.
func TestMeasuredTimesBecomeCurves(t *testing.T) {
	m := byHand()
	p := profileOf(t, m, peaks())
	for _, c := range []struct {
		name string
		got  Curve
		want Curve
	}{
		{"half", p.ComputeShare.At(0), Curve{[]float64{1e9, 10e9, 100e9}, []float64{0.2, 0.5, 0.8}}},
		{"tf32", p.ComputeShareTF32.At(0), Curve{[]float64{10e9}, []float64{0.5}}},
		{"fp32", p.ComputeShareFP32.At(0), Curve{[]float64{1e9, 10e9}, []float64{0.8, 1}}},
		{"streams", p.MemoryShare.At(0), Curve{[]float64{1e6, 100e6}, []float64{0.25, 0.8}}},
		{"rows", p.RowShare.At(0), Curve{[]float64{32, 256}, []float64{0.1, 0.5}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if p.MemoryBandwidth.Mid != 1e12 || p.PeakHalf.Kind != quantity.Default || p.Inside != "nvlink3" ||
		p.Launch.Mid != 1000 || p.Cache.Mid != 6e6 || p.Units.Mid != 80 {
		t.Errorf("profile %+v", p)
	}
	a := p.Resolve(0)
	for _, x := range m.Products {
		got := a.Time(Kernel{Launches: 1, FLOPs: x.FLOPs, Precision: x.Precision})
		if math.Abs(float64(got)/float64(x.Time.Mid)-1) > 1e-3 {
			t.Errorf("precision %d, %v: the model takes %v, measured %v", x.Precision, x.FLOPs, got,
				x.Time.Mid)
		}
	}
	for _, x := range m.Streams {
		got := a.Time(Kernel{Launches: 1, Bytes: x.Bytes})
		if math.Abs(float64(got)/float64(x.Time.Mid)-1) > 1e-3 {
			t.Errorf("%v: the model takes %v, measured %v", x.Bytes, got, x.Time.Mid)
		}
	}
}

// A peak is the driver's, a like profile's, or the best rate; and never below the best rate.
func TestMeasuredPeaks(t *testing.T) {
	m := byHand()
	p := profileOf(t, m, nil)
	// 100 GFLOP in 1250 µs, and 10 in 400 µs
	if p.PeakHalf.Mid != 80e12 || p.PeakHalf.Kind != quantity.Measured || p.PeakTF32.Mid != 25e12 ||
		!strings.Contains(p.PeakHalf.Source, "as no peak is known") {
		t.Errorf("half %+v, tf32 %+v", p.PeakHalf, p.PeakTF32)
	}
	if p.PeakFP32.Mid != 10e12 || p.PeakFP32.Kind != quantity.Default ||
		!strings.Contains(p.PeakFP32.Source, "clock, multiprocessors") {
		t.Errorf("fp32 %+v", p.PeakFP32)
	}
	if share := p.ComputeShare.Points[2].Share; share != 1 {
		t.Errorf("the best product reaches %v of the best rate", share)
	}
	m.Bandwidth, m.PeakFP32 = 0.5e12, 5e12 // of which 0.8 and 10 times 10¹² were reached
	if p = profileOf(t, m, nil); p.MemoryBandwidth.Mid != 0.8e12 || p.PeakFP32.Mid != 10e12 ||
		p.PeakFP32.Kind != quantity.Measured || !strings.Contains(p.PeakFP32.Source, "exceeds") {
		t.Errorf("bandwidth %+v, fp32 %+v", p.MemoryBandwidth, p.PeakFP32)
	}
	m.Bandwidth, m.PeakFP32 = 0, 0
	if p = profileOf(t, m, peaks()); p.MemoryBandwidth.Mid != 5e12 || p.PeakFP32.Source != "sheet" {
		t.Errorf("bandwidth %+v, fp32 %+v", p.MemoryBandwidth, p.PeakFP32)
	}
}

// Noise makes no profile that would be refused: more work never takes less time, small sizes that are mostly
// launch are left out, shapes of one size count together, and quartiles make the spread.
func TestMeasuredNoise(t *testing.T) {
	m := byHand()
	m.Products = []MeasuredProduct{
		{FP32, 1e9, exactly(126e3)},
		{Half, 1e8, exactly(1400)},                  // 0.4 µs beside a launch of 1 µs: 250 TFLOP/s
		{Half, 1e9, MeasuredTime{31e3, 41e3, 41e3}}, // two shapes: 50 µs on average
		{Half, 1e9, MeasuredTime{61e3, 61e3, 81e3}},
		{Half, 2e9, exactly(41e3)}, // less than half the work
	}
	p := profileOf(t, m, peaks())
	want := []CurvePoint[unit.FLOPs]{{1e9, 0.2}, {2e9, 0.4}}
	if !reflect.DeepEqual(p.ComputeShare.Points, want) {
		t.Errorf("points %v, want %v", p.ComputeShare.Points, want)
	}
	if p.ComputeShare.Spread != 0.667 { // 50 µs of 30 µs, rounded up
		t.Errorf("spread %v, want 0.667", p.ComputeShare.Spread)
	}
	if p.PeakHalf.Kind != quantity.Default {
		t.Errorf("a size that is mostly launch makes the peak %v", p.PeakHalf)
	}
	// Less than an empty launch, which counts as a tenth of the time.
	m.Products[0], m.Products = MeasuredProduct{FP32, 1e6, exactly(900)}, m.Products[:2]
	if p = profileOf(t, m, peaks()); len(p.ComputeShareFP32.Points) != 1 || p.PeakFP32.Mid != 11.11e12 ||
		len(p.ComputeShare.Points) != 1 {
		t.Errorf("the only sizes make %+v", p)
	}
	for what, remove := range map[string]func(*MeasuredAccelerator){
		"no products in fp32":           func(m *MeasuredAccelerator) { m.Products = m.Products[:4] },
		"no products in half precision": func(m *MeasuredAccelerator) { m.Products = m.Products[3:] },
		"no streams":                    func(m *MeasuredAccelerator) { m.Streams = nil },
		"no rows":                       func(m *MeasuredAccelerator) { m.Rows = nil },
		"cache":                         func(m *MeasuredAccelerator) { m.Cache = 0 },
	} {
		m := byHand()
		remove(m)
		if _, err := m.Profile(nil); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

// For any times, the shares are the largest that keep more work from taking less time, but for the rounding
// to four digits, and the profile is valid.
func TestMeasuredCurvesAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, like := byHand(), peaks()
		m.Products = []MeasuredProduct{{FP32, 1e9, exactly(126e3)}}
		var flops, times []float64
		size := 1e9
		for range rapid.IntRange(1, 6).Draw(t, "sizes") {
			size *= rapid.Float64Range(1.001, 20).Draw(t, "growth")
			alone := rapid.Float64Range(20e3, 5e6).Draw(t, "time")
			flops, times = append(flops, size), append(times, alone)
			m.Products = append(m.Products, MeasuredProduct{Half, unit.FLOPs(size),
				exactly(unit.Nanos(alone + 1e3))})
		}
		p, err := m.Profile(like)
		if err != nil {
			t.Fatal(err)
		}
		before := Curve{Sizes: []float64{1}, Shares: []float64{1}}
		for i, point := range p.ComputeShare.Points {
			n := len(before.Sizes) - 1
			want := min(1, flops[i]/float64(p.PeakHalf.Mid)/times[i]*1e9,
				before.Shares[n]*flops[i]/before.Sizes[n])
			if math.Abs(point.Share/want-1) > 2e-3 { // two steps of the last of four digits
				t.Fatalf("point %d: share %v, want %v", i, point.Share, want)
			}
			before.Sizes, before.Shares = append(before.Sizes, flops[i]), append(before.Shares, point.Share)
		}
	})
}

// Without a peak in tf32, products in tf32 are those in fp32. A curve of a precision serves launches with a
// fill, too, and is checked if it is there.
func TestCurvesOfPrecisions(t *testing.T) {
	p := profileOf(t, byHand(), peaks())
	filled := Kernel{Launches: 1, FLOPs: 5e9, Precision: FP32, Fill: 0.5}
	// At half of 10 TFLOP/s, of which large launches reach all.
	if got := p.Resolve(0).Time(filled); got != 1_001_000 {
		t.Errorf("half a device takes %d ns, want 1 ms and the launch", got)
	}
	p.PeakTF32, p.ComputeShareTF32 = quantity.Value[unit.FLOPsPerSec]{}, CurveProfile[unit.FLOPs]{}
	a := p.Resolve(0)
	in := func(precision Precision) unit.Tick {
		return a.Time(Kernel{Launches: 1, FLOPs: 1e9, Precision: precision})
	}
	if in(TF32) != in(FP32) || p.Validate() != nil {
		t.Errorf("%v in tf32, %v in fp32; error %v", in(TF32), in(FP32), p.Validate())
	}
	p.ComputeShareTF32.Spread = 0.1
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "compute-share-tf32: no points") {
		t.Errorf("a curve without points: error %v", err)
	}
}

// The text of a profile reads back as the profile, for measured ones and all that are built in.
func TestProfileTextReadsBack(t *testing.T) {
	all := []*AcceleratorProfile{profileOf(t, byHand(), peaks())}
	for _, name := range Accelerators.Names() {
		p, err := LoadAccelerator(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	file := filepath.Join(t.TempDir(), "own.yaml")
	for _, p := range all {
		if err := os.WriteFile(file, []byte(p.Text("a comment")), 0o644); err != nil {
			t.Fatal(err)
		}
		back, err := LoadAccelerator(file)
		if err != nil {
			t.Fatalf("%s: %v\n%s", p.Name, err, p.Text(""))
		}
		if !reflect.DeepEqual(back, p) {
			t.Errorf("%s reads back as\n%+v, not\n%+v", p.Name, back, p)
		}
	}
}

// Times from which no rate follows are refused: without the check, a curve of them would have no end.
func TestProfileRefusesTimesWithoutARate(t *testing.T) {
	for name, change := range map[string]func(m *MeasuredAccelerator, bad MeasuredTime){
		"a product": func(m *MeasuredAccelerator, bad MeasuredTime) { m.Products[3].Time = bad },
		"a stream":  func(m *MeasuredAccelerator, bad MeasuredTime) { m.Streams[0].Time = bad },
		"rows":      func(m *MeasuredAccelerator, bad MeasuredTime) { m.Rows[1].Time = bad },
		"a launch":  func(m *MeasuredAccelerator, bad MeasuredTime) { m.Launch = bad },
	} {
		for _, bad := range []MeasuredTime{{}, {5, 4, 6}, {4, 5, 4}, exactly(unit.Nanos(math.NaN())),
			{1, 2, unit.Nanos(math.Inf(1))}} {
			m := byHand()
			change(m, bad)
			if _, err := m.Profile(peaks()); err == nil || !strings.Contains(err.Error(), "quartiles") {
				t.Errorf("%s of %v: error %v", name, bad, err)
			}
		}
	}
	m := byHand()
	m.Products[0].FLOPs = 0
	if _, err := m.Profile(nil); err == nil || !strings.Contains(err.Error(), "0 FLOPs or bytes") {
		t.Errorf("no work: error %v", err)
	}
}

// A curve of tf32 without its peak would be ignored.
func TestCurveOfTF32NeedsItsPeak(t *testing.T) {
	p := profileOf(t, byHand(), peaks())
	p.PeakTF32 = quantity.Value[unit.FLOPsPerSec]{}
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "compute-share-tf32: its peak is") {
		t.Errorf("error %v", err)
	}
}

// The slower direction makes the wire: 26 MB in 1 ms, and 5.2 kB, which take 200 ns of 6.2 µs.
func TestMeasuredHostLink(t *testing.T) {
	m := byHand()
	m.In = []MeasuredTraffic{{0, 1e3, exactly(1e3)}, {0, 55e6, exactly(1e6)}}
	m.Out = []MeasuredTraffic{{0, 5200, MeasuredTime{5.2e3, 6.2e3, 7.2e3}},
		{0, 26e6, MeasuredTime{0.8e6, 1e6, 1.3e6}}}
	for range 2 {
		w, err := m.HostLink("link")
		if err != nil {
			t.Fatal(err)
		}
		low, high := w.Bandwidth.Range()
		if got := w.Resolve(0); got.Bandwidth != 26e9 || got.Latency != 6000 || low != 20e9 ||
			high != 32.5e9 || w.Latency.Low != 5000 || w.Latency.High != 7000 {
			t.Errorf("wire %+v", w)
		}
		m.In, m.Out = m.Out, m.In
	}
	m.In = nil
	if _, err := m.HostLink("link"); err == nil || !strings.Contains(err.Error(), "no copies") {
		t.Errorf("error %v", err)
	}
}

// The text of every built-in wire reads back as the wire.
func TestWireTextReadsBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "own.yaml")
	for _, name := range Wires.Names() {
		w, err := LoadWire(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(w.Text("a comment")), 0o644); err != nil {
			t.Fatal(err)
		}
		if back, err := LoadWire(file); err != nil || !reflect.DeepEqual(back, w) {
			t.Errorf("%s reads back as\n%+v, not\n%+v; error %v", name, back, w, err)
		}
	}
}
