package gpu

import (
	"context"
	_ "embed" // of PyTorch's side
	"fmt"
	"os"
	"time"

	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/script"
)

//go:embed peer.py
var peerScript string

// peer is PyTorch in a separate process: see peer.py.
type peer struct {
	*script.Process
	about about
}

// Ways of PyTorch to do a step.
const (
	eager          = "eager"
	compiled       = "compiled"
	compiledGraphs = "compiled with graphs" // of CUDA
)

// about is the description of a peer by itself.
type about struct {
	Python string   `json:"python" yaml:"python"`
	Torch  string   `json:"torch" yaml:"torch"`
	CUDA   string   `json:"cuda" yaml:"cuda"`
	Device string   `json:"device" yaml:"device"`
	Fused  bool     `json:"fused" yaml:"fused-adam"` // whether Adam runs fused
	Ways   []string `json:"ways" yaml:"ways"`        // in which it can do a step
}

// String returns the description of a peer for the notes of a report.
func (a about) String() string {
	adam := "Adam fused"
	if !a.Fused {
		adam = "Adam not fused, because this version does not support it"
	}
	return fmt.Sprintf("PyTorch %s (CUDA %s, Python %s) on %s, %s", a.Torch, a.CUDA, a.Python, a.Device, adam)
}

// Timeouts for the import of PyTorch and for a response, which comes after torch.compile has compiled a
// network with its backward pass.
const (
	helloTimeout    = 5 * time.Minute
	responseTimeout = 20 * time.Minute
)

// startPeer starts a peer that computes on a device, in a Python interpreter. It ends with ctx or with Close.
// An error is one line.
func startPeer(ctx context.Context, python, device string) (*peer, error) {
	var p peer
	var err error
	p.Process, err = script.Start(ctx, script.Options{Name: "PyTorch", Env: os.Environ(),
		HelloTimeout: helloTimeout, Timeout: responseTimeout}, &p.about, python, "-c",
		pytorch.Program(peerScript), device)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// open reads the values of a case.
func (p *peer) open(ctx context.Context, c *testCase, in *inputs) error {
	return p.Request(ctx, "open", map[string]any{"case": struct {
		*testCase
		Files map[string]string `json:"files"`
	}{c, in.files}}, &struct{}{})
}

// close releases the case.
func (p *peer) close(ctx context.Context) error { return p.Request(ctx, "close", nil, &struct{}{}) }

// way is a side: PyTorch, which does its steps in one way.
type way struct {
	*peer
	name string
}

// run implements side.
func (w way) run(ctx context.Context, steps int) (time.Duration, error) {
	var took struct{ Seconds float64 }
	err := w.Request(ctx, "run", map[string]any{"way": w.name, "steps": steps}, &took)
	return time.Duration(took.Seconds * float64(time.Second)), err
}
