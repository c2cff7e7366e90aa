package persia

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// imported translates configurations of Persia.
func imported(t *testing.T, embedding, global string) (string, error) {
	t.Helper()
	var files []string
	for name, text := range map[string]string{"embedding_config.yml": embedding,
		"global_config.yml": global} {
		if text == "" {
			continue
		}
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	text, err := Translate(files)
	return string(text), err
}

// Every key of Persia's configurations becomes a setting, or a sentence with its file and line.
func TestTranslate(t *testing.T) {
	text, err := imported(t, `feature_index_prefix_bit: 12
slots_config:
  user:
    dim: 16
    capacity: 100000
  item:
    dim: 16
    embedding_summation: true
  "12":
    dim: 16
    embedding_summation: false
  tags:
    dim: 16
    sqrt_scaling: true
    sample_fixed_size: 7
    index_prefix: 0
    hash_stack_config: {hash_stack_rounds: 2, embedding_size: 1000}
feature_groups:
  both: [user, item]
`, `common_config:
  metrics_config: {enable_metrics: true, job_name: click model}
  job_type: Train
embedding_parameter_server_config:
  capacity: 1000000
  incremental_dir: /workspace
embedding_worker_config:
  forward_buffer_size: 1000
  colour: blue
`)
	if err != nil {
		t.Fatal(err)
	}
	j, err := job.Parse([]byte(text), "job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []job.SlotSetting{{Slot: "user", Group: "both"}, {Slot: "item", Group: "both"},
		{Slot: "12", Raw: 10},
		{Slot: "tags", Pooling: job.PoolSqrt, HashStack: batch.HashStack{Rounds: 2, Rows: 1000}}}
	if fmt.Sprint(j.Data.Slots) != fmt.Sprint(want) {
		t.Errorf("slots %v, want %v", j.Data.Slots, want)
	}
	if j.Name != "click-model" || j.Model.EmbeddingDim != 16 || j.Rows.Capacity != 1_000_000 ||
		j.Rows.Eviction != job.SecondChance || *j.Training.Staleness != 9 ||
		j.Training.Scale != job.ScaleRank {
		t.Errorf("another job:\n%s", text)
	}
	for _, want := range []string{"# embedding_config.yml:3", "# global_config.yml:5",
		"embedding_config.yml:1 feature_index_prefix_bit: the prefixes",
		"embedding_config.yml:5 a slot's capacity: Persia has no such setting",
		"embedding_config.yml:16 a slot's index_prefix: ",
		"global_config.yml:2 common_config.metrics_config.enable_metrics: ",
		"global_config.yml:3 common_config.job_type: cmd/train trains",
		"global_config.yml:6 incremental_dir: ",
		"global_config.yml:8 forward_buffer_size: ", "global_config.yml:9 colour: Persia has no such setting",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Slots of several dimensions have their own, and the capacity, with its eviction, bounds the rows of all.
func TestTranslateWithDimensionsBySlot(t *testing.T) {
	text, err := imported(t, "slots_config: {a: {dim: 4}, b: {dim: 8}, c: {dim: 8}}",
		"embedding_server_config: {capacity: 10}")
	if err != nil {
		t.Fatal(err)
	}
	j, err := job.Parse([]byte(text), "job.yaml")
	if err != nil || j.Model.EmbeddingDim != 8 || len(j.Data.Slots) != 1 || j.Data.Slots[0].Dim != 4 ||
		j.Rows.Capacity != 10 || j.Rows.Eviction != job.SecondChance ||
		strings.Contains(text, "capacity: slots") {
		t.Errorf("error %v:\n%s", err, text)
	}
}

// Aliases and merged keys are what they stand for, and names with a line end add no line.
func TestTranslateReadsAllOfYAML(t *testing.T) {
	text, err := imported(t, `base: &base {dim: 8, sqrt_scaling: true}
slots_config:
  a: *base
  b: {<<: *base, dim: 4}
  "c\nd": {<<: [{dim: 8}, *base]}
"odd\nkey: 1": 2
`, `common_config: {metrics_config: {job_name: "one\ntwo: 3"}}`)
	if err != nil {
		t.Fatal(err)
	}
	j, err := job.Parse([]byte(text), "job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []job.SlotSetting{{Slot: "a", Pooling: job.PoolSqrt},
		{Slot: "b", Dim: 4, Pooling: job.PoolSqrt}, {Slot: "c\nd", Pooling: job.PoolSqrt}}
	if fmt.Sprint(j.Data.Slots) != fmt.Sprint(want) || j.Model.EmbeddingDim != 8 ||
		j.Name != "one-two--3" || !strings.Contains(text, `"odd\nkey: 1": Persia has no such setting`) {
		t.Errorf("name %q, slots %v, want %v:\n%s", j.Name, j.Data.Slots, want, text)
	}
}

// Keys of the same name in several sections are each noted, and those of several slots once.
func TestTranslateNotesEveryKeyOnce(t *testing.T) {
	text, err := imported(t, `slots_config: {a: {dim: 4, colour: 1}, b: {dim: 4, colour: 2}}
other: {colour: 3}
colour: 4
embedding_parameter_server_config: {colour: 5}
embedding_worker_config: {colour: 6}
common_config: {server.x: 7}
`, "colour: 8")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"embedding_config.yml:1 a slot's colour: ",
		"embedding_config.yml:2 other.colour: ", "embedding_config.yml:3 colour: ",
		"embedding_config.yml:4 colour: ", "embedding_config.yml:5 colour: ",
		"embedding_config.yml:6 common_config.server.x: ", "global_config.yml:1 colour: "} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%d times %q in\n%s", strings.Count(text, want), want, text)
		}
	}
}

func TestTranslateRefuses(t *testing.T) {
	for _, c := range []struct{ embedding, want string }{
		{"slots_config:\n  a: {dim: x}", `embedding_config.yml:2: "x" is not what Persia`},
		{"slots_config:\n  a: {sqrt_scaling: true}", "embedding_config.yml:2: slot a has no dim"},
		{"slots_config: {a: {dim: 4}}\nfeature_groups:\n  g: [a, b]",
			"embedding_config.yml:3: group g has the slot b"},
		{"feature_index_prefix_bit: 8", "no slots_config in embedding_config.yml"},
		{"slots_config:\n  a:\n    dim: -4", "embedding_config.yml:3: -4 is no number that Persia has"},
		{"slots_config:\n  a: {dim: 4, sample_fixed_size: 0}", "embedding_config.yml:2: 0 is no number"},
		{"slots_config:\n  a: {dim: 4, hash_stack_config: {hash_stack_rounds: -1}}", ":2: -1 is no number"},
		{"embedding_server_config: {capacity: -1}", "embedding_config.yml:1: -1 is no number"},
		{"slots_config:\n  - a\n  - b", "embedding_config.yml:2: there are no keys"},
		{"slots_config: {a: 4}", "embedding_config.yml:1: there are no keys"},
		{"slots_config: {a: {dim: 4}, a: {dim: 8}}",
			`embedding_config.yml:1: the key "a" is there twice, first in line 1: leave`},
		{"slots_config: {a: {dim: 4}}\nfeature_groups:\n  g: [a]\n  h: [a]",
			"embedding_config.yml:4: slot a is in group g, too"},
		{"slots_config: {a: {dim: 4}}\n---\nslots_config: {b: {dim: 4}}", "it has several documents"},
		{"slots_config: &x {a: *x}", "contains itself"},
		{"[]", "embedding_config.yml: it has no keys"},
		{"slots_config: {a: {dim: 99999999}}", "is no job here: the job: model.embedding-dim"},
		{"slots_config: {a: {dim: 4}, b: {dim: 8}}\nfeature_groups: {g: [a, b]}", "is no job here"},
	} {
		if _, err := imported(t, c.embedding, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.embedding, err, c.want)
		}
	}
}
