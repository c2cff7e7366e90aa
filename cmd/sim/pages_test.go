package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pages of a comparison and of a plan, and the figure of a sweep, are new files. Pages have figures
// before the first table, and all that was printed.
func TestPagesOfAnswers(t *testing.T) {
	folder := t.TempDir()
	page, figure := filepath.Join(folder, "page.html"), filepath.Join(folder, "figure.svg")
	for _, x := range []struct {
		args []string
		file string
		has  []string // figures in their order
	}{
		{[]string{"compare", "dgx-h100 --gpus 8", "dgx-h100 --gpus 16", "--samples", "2", "--report", page},
			page, []string{"<figcaption>Throughput<", "<figcaption>Price<",
				"<figcaption>Throughput against A<", "<figcaption>Price against A<", "<table>",
				"B / A speed"}},
		{strings.Fields("plan --presets commodity-10g --most-gpus 4 --most-hosts 1 --modes sync " +
			"--samples 2 --report " + page), page, []string{"<figcaption>Front<", "<figcaption>Throughput<",
			"<figcaption>Cost<", "<table>", "Memory of cluster 1"}},
		{strings.Fields("sweep --gpus 2 --samples 1 --over embedding-ps.count=20,50 --plot " + figure),
			figure, []string{"Throughput</text>", "embedding-ps.count", "<circle"}},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(x.args, &stdout, &stderr); code != 0 {
			t.Fatalf("%q: %s", x.args, stderr.String())
		}
		text, err := os.ReadFile(x.file)
		if err != nil {
			t.Fatal(err)
		}
		rest, found := string(text), true
		for _, part := range x.has {
			if _, rest, found = strings.Cut(rest, part); !found {
				t.Errorf("%q: %q is missing, or too early", x.args, part)
			}
		}
		stderr.Reset()
		if code := run(x.args, &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(),
			x.file+" exists") {
			t.Errorf("%q: exit %d: %s", x.args, code, stderr.String())
		}
		if err := os.Remove(x.file); err != nil {
			t.Fatal(err)
		}
	}
}
