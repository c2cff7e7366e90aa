package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/internal/cli"
)

const importUsage = `Translate the configurations of a Persia job, global_config.yml and
embedding_config.yml, to a job file, which is printed.

Every setting that is translated names its line. What has no place in a job
file is listed at its end, with a sentence for each. Persia's
rows, labels, network and optimizers are in its Python programs: comments say
where they go.`

// importPersia returns the command that translates configurations of Persia.
func (p *program) importPersia() *cobra.Command {
	return &cobra.Command{
		Use: "import-persia CONFIG…", Short: "Translate configurations of Persia to a job file",
		Long: importUsage, Example: "  go run ./cmd/train import-persia embedding_config.yml > job.yaml",
		RunE: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return cli.UsageError("name embedding_config.yml, and global_config.yml",
					"import-persia: no configuration")
			}
			text, err := importPersia(files)
			if err == nil {
				_, err = p.stdout.Write(text)
			}
			return err
		},
	}
}

// persiaJob is what configurations of Persia say.
type persiaJob struct {
	file     string // in hand
	files    []string
	name     string
	slots    []persiaSlot
	dim      int                    // that most slots have
	groups   map[string]persiaGroup // by slot
	capacity int
	where    string   // of capacity
	without  []string // places and sentences of what has no counterpart
}

// persiaSlot is a slot of embedding_config.yml.
type persiaSlot struct {
	job.SlotSetting
	where string // of its first line
	fixed int    // sample_fixed_size
	sums  bool   // embedding_summation
}

// persiaGroup is the feature group of a slot.
type persiaGroup struct{ name, where string }

// importPersia returns the job file of configurations.
func importPersia(files []string) ([]byte, error) {
	t := &persiaJob{name: "persia", groups: map[string]persiaGroup{}}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t.file = filepath.Base(file)
		t.files = append(t.files, t.file)
		document, err := readYAML(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := t.read("", document); err != nil {
			return nil, fmt.Errorf("%s:%w", file, err)
		}
	}
	if len(t.slots) == 0 {
		return nil, errors.New("no slots_config in " + strings.Join(t.files, ", ") +
			": name embedding_config.yml, too")
	}
	if err := t.finish(); err != nil {
		return nil, err
	}
	text := t.text()
	if _, err := job.Parse(text, "the job"); err != nil {
		return nil, fmt.Errorf("what the configurations say is no job here: %w", err)
	}
	return text, nil
}

// persiaKeys have what becomes of each key: a sentence for one without a counterpart, and nothing for one
// that read translates. Sections have had several names.
var persiaKeys = map[string]string{
	"common_config.metrics_config.enable_metrics":        "--metrics-address of cmd/train serves them",
	"common_config.metrics_config.push_interval_seconds": "nothing is pushed: Prometheus reads the metrics",
	"common_config.metrics_config.push_interval_sec":     "nothing is pushed: Prometheus reads the metrics",
	"common_config.job_type":                             predictsApart,
	"common_config.intent":                               predictsApart,
	"common_config.infer_config":                         "cmd/serve MODEL takes the folder of a model",
	"common_config.checkpointing_config":                 "PSs write at the same time",
	"common_config.num_embedding_io_workers":             "the cores are shared by all work",
	"server.num_hashmap_internal_shards":                 "a PS is one shard: add roles.embedding-ps",
	"server.num_embedding_io_workers":                    "the cores are shared by all work",
	"server.enable_incremental_update":                   servesChanges,
	"server.incremental_buffer_size":                     "--checkpoint-every says when changes are written",
	"server.incremental_dir":                             "changes are in RESULTS/<mode>/checkpoints",
	"server.incremental_channel_capacity":                "one checkpoint is written at a time",
	"worker.forward_buffer_size":                         "what is in flight is bounded by training.prefetch",
	"worker.buffered_data_expired_sec":                   "a batch is kept until it is done",
	"feature_index_prefix_bit":                           "the prefixes of slots are chosen by their number",
}

// Long sentences of persiaKeys.
const (
	predictsApart = "cmd/train trains; cmd/model predict and cmd/serve predict"
	servesChanges = "--checkpoint-every 2s of cmd/train, with cmd/serve --follow RESULTS"
)

// persiaSections are the names of sections, with what persiaKeys calls them.
var persiaSections = map[string]string{
	"embedding_parameter_server_config": "server", "embedding_server_config": "server",
	"shard_server_config": "server", "embedding_worker_config": "worker", "middleware_config": "worker",
}

// readYAML returns the mapping of a text that has one, and no other document.
func readYAML(text []byte) (*yaml.Node, error) {
	in := yaml.NewDecoder(bytes.NewReader(text))
	var document, other yaml.Node
	var values any
	if err := in.Decode(&document); err != nil && err != io.EOF {
		return nil, err
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it has no keys: name a configuration of Persia")
	}
	if err := document.Decode(&values); err != nil { // keys that repeat, and aliases that contain themselves
		return nil, err
	}
	if err := in.Decode(&other); err != io.EOF {
		return nil, errors.New("it has several documents, and Persia reads the first: leave out the others")
	}
	return document.Content[0], nil
}

// entry is a key of a mapping, and its value.
type entry struct{ key, value *yaml.Node }

// entriesOf returns the entries of a mapping, with those that it merges (<<) unless it has their keys itself.
func entriesOf(mapping *yaml.Node) (all []entry, err error) {
	mapping = resolved(mapping)
	if mapping.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%d: there are no keys, as Persia has there", mapping.Line)
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], resolved(mapping.Content[i+1])
		switch {
		case key.ShortTag() != "!!merge":
			all = append(all, entry{resolved(key), value})
		case value.Kind == yaml.SequenceNode:
			merged = append(merged, value.Content...)
		default:
			merged = append(merged, value)
		}
	}
	for _, m := range merged {
		others, err := entriesOf(m)
		if err != nil {
			return nil, err
		}
		for _, o := range others {
			if !slices.ContainsFunc(all, func(e entry) bool { return e.key.Value == o.key.Value }) {
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// resolved returns the node that an alias stands for, or the node itself.
func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// read reads a mapping that is found at a path of keys.
func (t *persiaJob) read(path string, mapping *yaml.Node) error {
	entries, err := entriesOf(mapping)
	if err != nil {
		return err
	}
	for _, e := range entries {
		key, value := e.key, e.value
		at := path + cmp.Or(persiaSections[key.Value], key.Value)
		sentence, known := persiaKeys[at]
		var err error
		switch {
		case known:
			t.leaveOut(key, at, sentence)
		case at == "server.capacity":
			t.where = t.place(key)
			err = decodeAbove(0, value, &t.capacity)
		case at == "common_config.metrics_config.job_name":
			t.name = cmp.Or(strings.Map(nameRune, value.Value), t.name)
		case at == "slots_config" || at == "feature_configs":
			err = t.readSlots(value)
		case at == "feature_groups":
			err = t.readGroups(value)
		case value.Kind == yaml.MappingNode:
			err = t.read(at+".", value)
		default:
			t.leaveOut(key, at, "Persia has no such setting")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decode reads a value, whose line the error has.
func decode(value *yaml.Node, to any) error {
	if err := value.Decode(to); err != nil {
		return fmt.Errorf("%d: %q is not what Persia reads there", value.Line, value.Value)
	}
	return nil
}

// decodeAbove reads a whole number that must be above another.
func decodeAbove(least int, value *yaml.Node, to *int) error {
	if err := decode(value, to); err != nil || *to > least {
		return err
	}
	return fmt.Errorf("%d: %d is no number that Persia has there: want more than %d", value.Line, *to, least)
}

// place returns the file and the line of a key.
func (t *persiaJob) place(key *yaml.Node) string { return t.file + ":" + strconv.Itoa(key.Line) }

// leaveOut notes a key without a counterpart. Keys of slots, which repeat, are noted once.
func (t *persiaJob) leaveOut(key *yaml.Node, path, sentence string) {
	path = strings.Replace(strings.Replace(path, "server.", "", 1), "worker.", "", 1)
	if strings.ContainsFunc(path, unicode.IsControl) {
		path = strconv.Quote(path) // a line end would end the comment
	}
	line := fmt.Sprintf("%s: %s", path, sentence)
	if !slices.ContainsFunc(t.without, func(s string) bool { return strings.HasSuffix(s, " "+line) }) {
		t.without = append(t.without, t.place(key)+" "+line)
	}
}

// readSlots reads slots_config.
func (t *persiaJob) readSlots(mapping *yaml.Node) error {
	slots, err := entriesOf(mapping)
	if err != nil {
		return err
	}
	for _, slot := range slots {
		s := persiaSlot{where: t.place(slot.key), fixed: 10, sums: true}
		s.Slot = slot.key.Value
		settings, err := entriesOf(slot.value)
		if err != nil {
			return err
		}
		for _, e := range settings {
			if err := t.readSetting(&s, e.key, e.value); err != nil {
				return err
			}
		}
		if s.Dim == 0 {
			return fmt.Errorf("%d: slot %s has no dim", slot.key.Line, s.Slot)
		}
		t.slots = append(t.slots, s)
	}
	return nil
}

// readSetting reads a setting of a slot.
func (t *persiaJob) readSetting(s *persiaSlot, key, value *yaml.Node) error {
	switch key.Value {
	case "dim":
		return decodeAbove(0, value, &s.Dim)
	case "sample_fixed_size":
		return decodeAbove(0, value, &s.fixed)
	case "embedding_summation":
		return decode(value, &s.sums)
	case "sqrt_scaling":
		return decode(value, &s.SqrtScaling)
	case "hash_stack_config":
		return t.readHashStack(s, value)
	case "index_prefix":
		t.leaveOut(key, key.Value, "the prefixes of slots are chosen by their number")
	default:
		t.leaveOut(key, "a slot's "+key.Value, "Persia has no such setting")
	}
	return nil
}

// readHashStack reads the hash_stack_config of a slot. No rounds mean that it has none.
func (t *persiaJob) readHashStack(s *persiaSlot, mapping *yaml.Node) error {
	settings, err := entriesOf(mapping)
	if err != nil {
		return err
	}
	h := &s.HashStack
	for _, e := range settings {
		switch e.key.Value {
		case "hash_stack_rounds":
			err = decodeAbove(-1, e.value, &h.Rounds)
		case "embedding_size":
			err = decodeAbove(-1, e.value, &h.Rows)
		default:
			t.leaveOut(e.key, "hash_stack_config."+e.key.Value, "Persia has no such setting")
		}
		if err != nil {
			return err
		}
	}
	if h.Rounds == 0 {
		h.Rows = 0
	}
	return nil
}

// readGroups reads feature_groups.
func (t *persiaJob) readGroups(mapping *yaml.Node) error {
	groups, err := entriesOf(mapping)
	if err != nil {
		return err
	}
	for _, g := range groups {
		var slots []string
		if err := decode(g.value, &slots); err != nil {
			return err
		}
		for _, slot := range slots {
			if other, ok := t.groups[slot]; ok {
				return fmt.Errorf("%d: slot %s is in group %s, too (%s): leave it out of one", g.key.Line,
					slot, other.name, other.where)
			}
			t.groups[slot] = persiaGroup{g.key.Value, t.place(g.key)}
		}
	}
	return nil
}

// commonDim returns the dimension that most slots have.
func (t *persiaJob) commonDim() int {
	counts := map[int]int{}
	best := t.slots[0].Dim
	for _, s := range t.slots {
		if counts[s.Dim]++; counts[s.Dim] > counts[best] {
			best = s.Dim
		}
	}
	return best
}

// finish relates what the files say to each other.
func (t *persiaJob) finish() error {
	differ := false
	t.dim = t.commonDim()
	for i := range t.slots {
		s := &t.slots[i]
		s.Group = t.groups[s.Slot].name
		delete(t.groups, s.Slot)
		if !s.sums {
			s.Raw = s.fixed
		}
		if s.Dim == t.dim {
			s.Dim = 0
		} else {
			differ = true
		}
	}
	for slot, group := range t.groups { // order-free: any of them is an error
		return fmt.Errorf("%s: group %s has the slot %s, which slots_config has not", group.where, group.name,
			slot)
	}
	if differ && t.capacity > 0 {
		t.without = append(t.without, t.where+" capacity: slots of several dimensions have no bound on rows")
		t.capacity = 0
	}
	return nil
}

// text returns the job file.
func (t *persiaJob) text() []byte {
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
		for _, s := range t.without {
			fmt.Fprintln(&b, cli.Wrap("# - "+s, "#   "))
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
func (t *persiaJob) writeSlots(line func(int, string, string), b *strings.Builder) {
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
