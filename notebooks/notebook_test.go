package notebooks

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notebook holds the fields of an .ipynb file that the tests read.
type notebook struct {
	Cells    []cell `json:"cells"`
	Metadata struct {
		Kernel struct {
			Name string `json:"name"`
		} `json:"kernelspec"`
	} `json:"metadata"`
}

type cell struct {
	Type     string `json:"cell_type"`
	Source   text   `json:"source"`
	Metadata struct {
		Tags []string `json:"tags"`
	} `json:"metadata"`
	Outputs []storedOutput `json:"outputs"`
}

// The tags of cells whose text may differ from what is stored.
const (
	timing = "timing" // it depends on the timing of threads
	figure = "figure" // it says why there is no figure, where there is none
)

// mayDiffer reports whether another run of the cell may print another text.
func (c *cell) mayDiffer() bool {
	return slices.Contains(c.Metadata.Tags, timing) || slices.Contains(c.Metadata.Tags, figure)
}

// text is a text that an .ipynb file holds as one string or as a list of lines.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(data []byte) error {
	var lines []string
	if err := json.Unmarshal(data, &lines); err == nil {
		*t = text(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

// storedOutput is an output of a cell: a text of a stream, or a figure.
type storedOutput struct {
	Type string `json:"output_type"`
	Name string `json:"name"` // of a stream
	Text text   `json:"text"`
	Data struct {
		PNG text `json:"image/png"` // base64
	} `json:"data"`
}

// output is what a run of one cell has printed and drawn.
type output struct {
	printed string
	figures [][]byte // PNG
}

// stored returns what the file holds of a cell's outputs, without what commands wrote to standard error.
func (c *cell) stored() (o output, err error) {
	for _, s := range c.Outputs {
		if s.Name == "stdout" {
			o.printed += string(s.Text)
		}
		if s.Data.PNG != "" {
			png, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(s.Data.PNG), "\n", ""))
			if err != nil {
				return o, err
			}
			o.figures = append(o.figures, png)
		}
	}
	return o, nil
}

func read(t *testing.T, name string) *notebook {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var n notebook
	if err := json.Unmarshal(data, &n); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &n
}

// names returns the notebooks of a kernel.
func names(t *testing.T, kernel string) (of []string) {
	t.Helper()
	all, err := filepath.Glob("*.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if read(t, name).Metadata.Kernel.Name == kernel {
			of = append(of, name)
		}
	}
	if len(of) == 0 {
		t.Fatalf("no notebook has the kernel %s", kernel)
	}
	return of
}

// compare compares the outputs of a run, one per code cell, with the stored ones. Of figures, only their
// number is compared.
func compare(t *testing.T, n *notebook, run []output, drawn bool) {
	t.Helper()
	i := 0
	for at := range n.Cells {
		c := &n.Cells[at]
		if c.Type != "code" {
			continue
		}
		got := run[i]
		i++
		want, err := c.stored()
		if err != nil {
			t.Fatalf("cell %d: %v", at, err)
		}
		if strings.Contains(got.printed, "error:") {
			t.Errorf("cell %d reports an error:\n%s", at, got.printed)
		}
		if (want.printed == "") != (got.printed == "") && !slices.Contains(c.Metadata.Tags, figure) {
			t.Errorf("cell %d prints %q, stored is %q", at, got.printed, want.printed)
		}
		if !c.mayDiffer() && got.printed != want.printed {
			t.Errorf("cell %d prints\n%sstored is\n%sif it should: go test ./notebooks -rewrite", at,
				got.printed, want.printed)
		}
		if drawn && len(got.figures) != len(want.figures) {
			t.Errorf("cell %d draws %d figures, stored are %d", at, len(got.figures), len(want.figures))
		}
	}
}

// rewrite stores the outputs of a run, one per code cell, in a notebook.
func rewrite(t *testing.T, name string, run []output) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, c := range file["cells"].([]any) {
		c := c.(map[string]any)
		if c["cell_type"] != "code" {
			continue
		}
		c["outputs"] = run[count].file()
		count++
		c["execution_count"] = count
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// file returns an output in the form of an .ipynb file.
func (o output) file() []any {
	all := []any{}
	if o.printed != "" {
		all = append(all, map[string]any{"output_type": "stream", "name": "stdout",
			"text": slices.Collect(strings.Lines(o.printed))})
	}
	for _, png := range o.figures {
		all = append(all, map[string]any{"output_type": "display_data", "metadata": map[string]any{},
			"data": map[string]any{"image/png": base64.StdEncoding.EncodeToString(png)}})
	}
	return all
}
