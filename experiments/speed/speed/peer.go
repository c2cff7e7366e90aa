package speed

import (
	"context"
	_ "embed" // of PyTorch's side
	"fmt"
	"os"
	"strings"
	"time"

	"tandem/algo/numeric/isa"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/script"
)

//go:embed peer.py
var peerScript string

// peer is PyTorch or FBGEMM in a separate process: see peer.py.
type peer struct {
	*script.Process
	about about
}

// about is the description of a peer by itself.
type about struct {
	Python     string `json:"python" yaml:"python"`
	Torch      string `json:"torch" yaml:"torch"`
	BLAS       string `json:"blas" yaml:"blas"`
	Capability string `json:"capability" yaml:"capability"` // vector instructions of its own kernels
	Fused      bool   `json:"fused" yaml:"fused-adam"`      // whether Adam can run fused
	// CoreType is the environment variable OPENBLAS_CORETYPE of the process, empty if unset.
	FBGEMM   string `json:"fbgemm" yaml:"fbgemm,omitempty"` // its version, of the peer that uses it
	CoreType string `json:"openblas_coretype" yaml:"openblas-coretype,omitempty"`
}

// String returns the description of a peer for the notes of a report.
func (a about) String() string {
	text := fmt.Sprintf("PyTorch %s (BLAS %s, own kernels %s, Python %s)", a.Torch, a.BLAS, a.Capability,
		a.Python)
	if strings.Contains(a.BLAS, "open") && a.CoreType != "" {
		text += ", OPENBLAS_CORETYPE=" + a.CoreType
	}
	return text
}

// Timeouts for the import of PyTorch and for a response: ten times the longest time that was measured.
const (
	helloTimeout    = 3 * time.Minute
	responseTimeout = 10 * time.Minute
)

// startPeer starts a peer in a Python interpreter, which ends with ctx or with Close. An error is one line.
func startPeer(ctx context.Context, python string) (*peer, error) {
	return startNamed(ctx, "PyTorch", python, "-c", pytorch.Program(peerScript))
}

// startFBGEMM starts the peer of sparse steps that uses FBGEMM.
func startFBGEMM(ctx context.Context, python string) (*peer, error) {
	return startNamed(ctx, "FBGEMM", python, "-c", pytorch.Program(peerScript), "fbgemm")
}

func startNamed(ctx context.Context, name, python string, args ...string) (*peer, error) {
	return startScript(ctx, script.Options{Name: name, Env: peerEnvironment(), HelloTimeout: helloTimeout,
		Timeout: responseTimeout}, python, args...)
}

// startScript starts a program that implements the protocol.
func startScript(ctx context.Context, o script.Options, program string, args ...string) (*peer, error) {
	var p peer
	var err error
	p.Process, err = script.Start(ctx, o, &p.about, program, args...)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// peerEnvironment returns the environment of this process with settings that make PyTorch faster, unless
// they are set: AVX-512 in Debian's OpenBLAS, which does not recognise some processors, and huge pages for
// large tensors, as for Tandem's rows.
func peerEnvironment() []string {
	env := os.Environ()
	add := func(name, value string) {
		if _, set := os.LookupEnv(name); !set {
			env = append(env, name+"="+value)
		}
	}
	add("THP_MEM_ALLOC_ENABLE", "1")
	if isa.Best() == isa.AVX512 {
		add("OPENBLAS_CORETYPE", "SkylakeX")
	}
	return env
}

// open implements side.
func (p *peer) open(ctx context.Context, c *prepared) (warmState, error) {
	var o warmState
	err := p.Request(ctx, "open", map[string]any{"case": c.forPeer(), "warm_ups": c.warmUps()}, &o)
	return o, err
}

// run implements side.
func (p *peer) run(ctx context.Context, steps int) (time.Duration, error) {
	var took struct{ Seconds float64 }
	err := p.Request(ctx, "run", map[string]any{"steps": steps}, &took)
	return time.Duration(took.Seconds * float64(time.Second)), err
}

// close implements side.
func (p *peer) close(ctx context.Context) error { return p.Request(ctx, "close", nil, &struct{}{}) }
