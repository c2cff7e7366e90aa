package persia

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tandem/internal/cli"
)

// text returns the job file.
func (t *translation) text() []byte {
	var b strings.Builder
	line := func(indent int, setting, comment string) {
		fmt.Fprintf(&b, "%s%-*s # %s\n", strings.Repeat(" ", indent), 40-indent, setting, comment)
	}
	fmt.Fprintf(&b, "# Translated from %s of Persia.\n", strings.Join(t.files, " and "))
	fmt.Fprintf(&b, "name: %s\ndata:\n", yamlWord(t.name))
	line(2, "kind: csv", "was: the data loader's program; or parquet, follow")
	line(2, "path: clicks.csv", "name your file; Persia has none")
	fmt.Fprint(&b, "  csv:\n    slots:\n")
	for _, s := range t.slots {
		line(6, "- {column: "+yamlWord(s.Slot)+"}", s.where+`; of lists, add separator: "|"`)
	}
	line(4, "numeric: []", "the non-ID features of a PersiaBatch")
	line(4, "label: label", "the labels of a PersiaBatch")
	t.writeSlots(line, &b)
	fmt.Fprintf(&b, "model:\n")
	line(2, "kind: feed-forward", "was: a PyTorch module; docs/pytorch.md")
	line(2, fmt.Sprintf("embedding-dim: %d", t.dim), "dim of most slots")
	fmt.Fprintf(&b, "rows:\n")
	line(2, "init: 0.01", "emb_initialization of EmbeddingConfig")
	if t.capacity > 0 {
		line(2, fmt.Sprintf("capacity: %d", t.capacity), t.where)
		line(2, "eviction: second-chance", "as Persia, nearly")
	}
	line(2, "optimizer: {kind: adagrad, rate: 0.01}", "of persia.embedding.optim")
	fmt.Fprintf(&b, "training:\n")
	line(2, "mode: hybrid", "as Persia")
	line(2, "staleness: 9", "embedding_staleness − 1 of DataLoader")
	line(2, "scale: rank", "gradients are means over a rank's samples")
	if len(t.without) > 0 {
		fmt.Fprintln(&b, "# Not in a job file:")
		for _, u := range t.without {
			fmt.Fprintln(&b, cli.Wrap(fmt.Sprintf("# - %s %s: %s", u.place, u.key, u.sentence), "#   "))
		}
	}
	return []byte(b.String())
}

// wordRunes are characters of names that need no quotes.
const wordRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// nameRune returns a character that the name of a job may have, for one that Persia's may.
func nameRune(r rune) rune {
	if strings.ContainsRune(wordRunes+".", r) {
		return r
	}
	return '-'
}

// yamlWord returns a name as YAML reads it.
func yamlWord(name string) string {
	if strings.Trim(name, wordRunes) == "" {
		var text any
		if err := yaml.Unmarshal([]byte(name), &text); err == nil && text == name {
			return name // a number or a truth value is something else
		}
	}
	return strconv.Quote(name)
}

// writeSlots writes the settings of slots that have some.
func (t *translation) writeSlots(line func(int, string, string), b *strings.Builder) {
	begun := false
	for _, s := range t.slots {
		settings := ""
		add := func(given bool, format string, values ...any) {
			if given {
				settings += ", " + fmt.Sprintf(format, values...)
			}
		}
		add(s.Dim > 0, "dim: %d", s.Dim)
		add(s.Raw > 0, "raw: %d", s.Raw)
		add(s.SqrtScaling, "pooling: sqrt")
		add(s.Group != "", "group: %s", yamlWord(s.Group))
		h := s.HashStack
		add(h.Rounds > 0, "hash-stack: {rounds: %d, rows: %d}", h.Rounds, h.Rows)
		if settings == "" {
			continue
		}
		if !begun {
			fmt.Fprintln(b, "  slots:")
			begun = true
		}
		line(4, "- {slot: "+yamlWord(s.Slot)+settings+"}", s.where)
	}
}
