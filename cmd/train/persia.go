package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/internal/cli"
)

const importUsage = `Translate the configurations of a Persia job, global_config.yml and
embedding_config.yml, to a job file, which is printed.

Every line of the job file names the line that it comes from. What has no
place in a job file is listed at its end, with a sentence for each. Persia's
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
		var document yaml.Node
		if err := yaml.Unmarshal(text, &document); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s: it has no keys: name a configuration of Persia", file)
		}
		if err := t.read("", document.Content[0]); err != nil {
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

// read reads a mapping that is found at a path of keys.
func (t *persiaJob) read(path string, mapping *yaml.Node) error {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		at := path + cmp.Or(persiaSections[key.Value], key.Value)
		sentence, known := persiaKeys[at]
		var err error
		switch {
		case known:
			t.leaveOut(key, at, sentence)
		case at == "server.capacity":
			t.where = t.place(key)
			err = decode(value, &t.capacity)
		case at == "common_config.metrics_config.job_name":
			t.name = strings.ReplaceAll(value.Value, " ", "-")
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

// place returns the file and the line of a key.
func (t *persiaJob) place(key *yaml.Node) string { return t.file + ":" + strconv.Itoa(key.Line) }

// leaveOut notes a key without a counterpart. Keys of slots, which repeat, are noted once.
func (t *persiaJob) leaveOut(key *yaml.Node, path, sentence string) {
	path = strings.Replace(strings.Replace(path, "server.", "", 1), "worker.", "", 1)
	line := fmt.Sprintf("%s: %s", path, sentence)
	if !slices.ContainsFunc(t.without, func(s string) bool { return strings.HasSuffix(s, " "+line) }) {
		t.without = append(t.without, t.place(key)+" "+line)
	}
}

// readSlots reads slots_config.
func (t *persiaJob) readSlots(mapping *yaml.Node) error {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, settings := mapping.Content[i], mapping.Content[i+1]
		s := persiaSlot{where: t.place(name), fixed: 10, sums: true}
		s.Slot = name.Value
		for k := 0; k+1 < len(settings.Content); k += 2 {
			key, value := settings.Content[k], settings.Content[k+1]
			var err error
			switch key.Value {
			case "dim":
				err = decode(value, &s.Dim)
			case "sample_fixed_size":
				err = decode(value, &s.fixed)
			case "embedding_summation":
				err = decode(value, &s.sums)
			case "sqrt_scaling":
				err = decode(value, &s.SqrtScaling)
			case "hash_stack_config":
				var h struct {
					Rounds int `yaml:"hash_stack_rounds"`
					Rows   int `yaml:"embedding_size"`
				}
				if err = decode(value, &h); h.Rounds > 0 {
					s.HashStack.Rounds, s.HashStack.Rows = h.Rounds, h.Rows
				}
			case "index_prefix":
				t.leaveOut(key, key.Value, "the prefixes of slots are chosen by their number")
			default:
				t.leaveOut(key, "a slot's "+key.Value, "Persia has no such setting")
			}
			if err != nil {
				return err
			}
		}
		if s.Dim == 0 {
			return fmt.Errorf("%d: slot %s has no dim", name.Line, name.Value)
		}
		t.slots = append(t.slots, s)
	}
	return nil
}

// readGroups reads feature_groups.
func (t *persiaJob) readGroups(mapping *yaml.Node) error {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, value := mapping.Content[i], mapping.Content[i+1]
		var slots []string
		if err := decode(value, &slots); err != nil {
			return err
		}
		for _, slot := range slots {
			t.groups[slot] = persiaGroup{name.Value, t.place(name)}
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
	fmt.Fprintf(&b, "name: %s\ndata:\n", t.name)
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

// yamlWord returns a name as YAML reads it.
func yamlWord(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
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
