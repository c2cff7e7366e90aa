package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/runtime/checkpoint/safetensors"
)

// rowsPart is what a process has written of the rows of an owner.
type rowsPart struct {
	Owner       int
	Dim         int
	Precision   string
	StateValues int
	Server      Server
	File        File
}

// writeRows writes the rows of an owner, beside a number of embedding PSs, to a folder.
func writeRows(fs fileSystem, folder string, owner, servers int, t rowSource) (rowsPart, error) {
	p := rowsPart{Owner: owner, Dim: t.Dim(), Precision: t.Precision().String(),
		StateValues: t.StateBytes() / 4, Server: serverOf(t.Len(), t.Counters())}
	var err error
	p.File, err = writeFile(fs, folder, RowsFile(owner, servers),
		func(out io.Writer) error { return encodeRows(out, t) })
	return p, err
}

// exportKey is the metadata entry of an export with its description.
const exportKey = "export"

// export describes the part of a model that a process has.
type export struct {
	Rows  []rowsPart
	Parts []Part
}

// Export writes the part of a model that is in this process to the folder of a Writer: the rows of each of
// its embedding PSs, the hot rows if it has rank 0, and all else to a file with a name, which Writer.Collect
// reads.
func Export(folder, name string, state exec.State) error {
	var described export
	plan := state.Plan()
	for owner := range plan.Owners() {
		if !state.Exports(owner) {
			continue
		}
		part, err := writeRows(disk{}, folder, owner, plan.Servers(), state.Table(owner))
		if err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
		described.Rows = append(described.Rows, part)
	}
	parts, err := state.ExportDense()
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	var tensors []safetensor
	for i, p := range parts {
		described.Parts = append(described.Parts, partOf(&p))
		tensors = append(tensors, partTensors(i, &p, true)...)
	}
	text, err := json.Marshal(described)
	if err != nil {
		return err
	}
	_, err = writeFile(disk{}, folder, name, func(out io.Writer) error {
		return safetensors.Write(out, tensors, map[string]string{exportKey: string(text)})
	})
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Collect adds what a process has written with Export.
func (w *Writer) Collect(name string) error {
	path := filepath.Join(w.working, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w; all processes must reach this folder under the same path", describe(name, err))
	}
	f, err := safetensors.Read(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var described export
	if err := json.Unmarshal([]byte(f.Metadata[exportKey]), &described); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, p := range described.Rows {
		if _, twice := w.rows[p.Owner]; twice {
			return fmt.Errorf("%s: %s comes twice", name, p.File.Name)
		}
		w.rows[p.Owner] = p
	}
	for i, one := range described.Parts {
		p := dense.Part{Lo: one.Lo, PerStep: one.PerStep}
		p.Steps = one.Steps
		at, err := addressOf(one)
		if err = errors.Join(err, readPart(f, i, &p)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p.At = at
		w.parts = append(w.parts, p)
	}
	return w.fs.RemoveAll(path)
}
