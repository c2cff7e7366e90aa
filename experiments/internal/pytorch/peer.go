package pytorch

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/algo/numeric/isa"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/script"
)

// Peer is PyTorch, or FBGEMM with it, in a process of its own.
type Peer struct {
	*script.Process
	About About
}

// About is the description of a peer by itself.
type About struct {
	Python     string   `json:"python"`
	Torch      string   `json:"torch"`
	BLAS       string   `json:"blas,omitempty"`
	Capability string   `json:"capability,omitempty"` // vector instructions of its own kernels
	CUDA       string   `json:"cuda,omitempty"`
	Device     string   `json:"device,omitempty"`
	Fused      bool     `json:"fused"`          // whether Adam can run fused
	Ways       []string `json:"ways,omitempty"` // in which it can do a step
	FBGEMM     string   `json:"fbgemm,omitempty"`
	// CoreType is the environment variable OPENBLAS_CORETYPE of the process, empty if unset.
	CoreType string `json:"openblas_coretype,omitempty"`
}

// String returns the description of a peer for the notes of a report.
func (a About) String() string {
	text := fmt.Sprintf("PyTorch %s (", a.Torch)
	if a.CUDA != "" {
		text += fmt.Sprintf("CUDA %s, ", a.CUDA)
	}
	if a.BLAS != "" {
		text += fmt.Sprintf("BLAS %s, own kernels %s, ", a.BLAS, a.Capability)
	}
	text += fmt.Sprintf("Python %s)", a.Python)
	if a.Device != "" {
		text += " on " + a.Device
	}
	if strings.Contains(a.BLAS, "open") && a.CoreType != "" {
		text += ", OPENBLAS_CORETYPE=" + a.CoreType
	}
	if !a.Fused {
		return text + ", Adam not fused, because this version does not support it"
	}
	return text + ", Adam fused"
}

// Timeouts for the import of PyTorch and for a response, which may come after torch.compile has compiled a
// network: ten times the longest time that was measured.
const (
	helloTimeout    = 5 * time.Minute
	responseTimeout = 20 * time.Minute
)

// Start starts a program that follows networks.py, in the interpreter with PyTorch. It ends with ctx or with
// Close. If PyTorch is absent, the peer is nil and absent says why; that is an error if the interpreter was
// named.
func Start(ctx context.Context, python *report.Python, name, program string, args ...string) (
	p *Peer, absent string, err error,
) {
	p, err = start(ctx, name, cmp.Or(python.Named(), "python3"),
		append([]string{"-c", networks + "\n\n" + program}, args...)...)
	if err != nil && python.Named() == "" && ctx.Err() == nil {
		return nil, err.Error(), nil
	}
	return p, "", err
}

// start starts a program that implements the protocol. An error is one line.
func start(ctx context.Context, name, program string, args ...string) (*Peer, error) {
	p := &Peer{}
	var err error
	p.Process, err = script.Start(ctx, script.Options{Name: name, Env: environment(),
		HelloTimeout: helloTimeout, Timeout: responseTimeout}, &p.About, program, args...)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// environment returns the environment of this process with settings that make PyTorch faster, unless they
// are set: AVX-512 in Debian's OpenBLAS, which does not recognise some processors, and huge pages for
// large tensors, as for Tandem's rows.
func environment() []string {
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

// Seconds asks for steps of the open case, and returns their time.
func (p *Peer) Seconds(ctx context.Context, fields map[string]any) (time.Duration, error) {
	var took struct{ Seconds float64 }
	err := p.Request(ctx, "run", fields, &took)
	return time.Duration(took.Seconds * float64(time.Second)), err
}

// Files are values that a peer reads from files.
type Files struct {
	Folder string
	Paths  map[string]string // by name
}

// NewFiles creates a folder and writes slices of numbers there, by name.
func NewFiles(values map[string]any) (*Files, error) {
	folder, err := os.MkdirTemp("", "tandem-values-")
	if err != nil {
		return nil, fmt.Errorf("cannot create a folder for the input values: %w", err)
	}
	f := &Files{folder, map[string]string{}}
	for name, numbers := range values {
		if err := f.Write(name, numbers); err != nil {
			f.Remove()
			return nil, err
		}
	}
	return f, nil
}

// Write writes a slice of numbers under a name, in the byte order of the machine.
func (f *Files) Write(name string, numbers any) error {
	raw, err := binary.Append(make([]byte, 0, binary.Size(numbers)), binary.NativeEndian, numbers)
	if err != nil {
		return err
	}
	f.Paths[name] = filepath.Join(f.Folder, name)
	return os.WriteFile(f.Paths[name], raw, 0o600)
}

// Remove deletes the files.
func (f *Files) Remove() { _ = os.RemoveAll(f.Folder) } // the rest is in the system's temporary folder
