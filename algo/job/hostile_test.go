package job

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
)

const generated = "data: {kind: synthetic, synthetic: {train-rows: 9, test-rows: 9, columns: " +
	"[{cardinality: 9}]}}\n"

// A number out of range is refused by its key, with its value and the range.
func TestNumbersOutOfRange(t *testing.T) {
	for text, want := range map[string]string{
		"roles: {embedding-ps: 2000000000}":    "roles.embedding-ps = 2000000000; want 1 to 16384",
		"roles: {embedding-workers: 0}":        "roles.embedding-workers = 0; want 1 to 16384",
		"roles: {ranks: 1000000}":              "roles.ranks = 1000000; want 1 to 16384",
		"roles: {dense-ps: 100000}":            "roles.dense-ps = 100000; want 1 to 16384",
		"training: {groups: 131072}":           "training.groups = 131072; want 1 to 65536",
		"training: {global-batch: 2000000000}": "training.global-batch = 2000000000; want 1 to 1073741824",
		"training: {epochs: 2000000000}":       "training.epochs = 2000000000; want 1 to 1000000",
		"training: {prefetch: 2000000000}":     "training.prefetch = 2000000000; want 0 to 65536",
		"training: {mode-settings: {slack: -1}}": "training.mode-settings: slack = -1; want 0 to 1000000 " +
			"in mode ssp",
		"training: {slack: 3}": `training: unknown key "slack": slack is now ` +
			`training.mode-settings: {slack: ...}`,
		"rows: {capacity: 3000000000}": "rows.capacity = 3000000000; want 0 to 2147483647",
		"rows: {memory: 2PiB}":         "rows.memory = 2251799813685248; want 0 to 1125899906842624",
		"rows: {init: 1e9}":            "rows.init = 1e+09; want 0 to 1e+06",
		"rows: {init: 65505, precision: fp16}": "init = 65505 of rows in fp16, whose largest number is " +
			"65504: lower rows.init",
		"rows: {init: .nan}":               `rows.init: ".nan" where a finite number belongs`,
		"rows: {init: .inf}":               `rows.init: ".inf" where a finite number belongs`,
		"rows: {optimizer: {rate: -.inf}}": `rows.optimizer.rate: "-.inf" where a finite number belongs`,
		"training: {seed: -1.0}": `training.seed: "-1.0" where a whole number from 0 (uint64) ` +
			`belongs`,
		"training: {epochs: 1e300}":      `training.epochs: "1e300" where a whole number (int) belongs`,
		"model: {top: [2000000000]}":     "model.top[0] = 2000000000, want 1 to 1048576",
		"model: {embedding-dim: 100000}": "model.embedding-dim = 100000, want 1 to 65536",
		"model: {optimizer: {schedule: {warm-up: 3000000000}}}": "model.optimizer.schedule." +
			"warm-up = 3000000000, want 0 to 2147483647",
		"cluster: {server-zone: b}": `cluster.topology.zone-rate = 0, with servers in zone ` +
			`"b", EWs in ""`,
		"cluster: {topology: {zone-rate: -1Gbps}}": "cluster.topology.zone-rate = -1Gbps; want more than 0",
		"cluster: {topology: {zone-latency: 2s}}":  "cluster.topology.zone-latency = 2s; want 0 to 1s",
		"cluster: {accelerators-per-server: 2000000000}": "cluster.accelerators-per-server = 2000000000; " +
			"want 1 to 16384",
		"cluster: {embedding-ps: {count: 2000000000}}": "cluster.embedding-ps.count = 2000000000; " +
			"want 1 to 16384",
		"cluster: {embedding-ps: {count: 100, per-host: 200}}": "cluster.embedding-ps.per-host = 200; " +
			"want 1 to 163 on 100 hosts",
	} {
		if _, err := Parse([]byte(generated+text), "job.yaml"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for data, want := range map[string]string{
		"numeric: 2000000000, columns: [{cardinality: 1}]": "numeric: 2000000000: must be 0 to 10000",
		"columns: [{cardinality: 1e18}]": "columns[0].cardinality: " +
			"1000000000000000000: must be",
		"train-rows: 2147483647": "train-rows: 2147483647: must be 1 to " +
			"2147483646",
		"columns: [{cardinality: 1}], teacher: {rank: 2000000000}": "teacher.rank: 2000000000: must be 1 " +
			"to 256",
	} {
		rows := "train-rows: 1, test-rows: 1, "
		if strings.HasPrefix(data, "train-rows") {
			rows = ""
		}
		text := "data: {kind: synthetic, synthetic: {" + rows + data + "}}"
		if _, err := Parse([]byte(text), "job.yaml"); err == nil ||
			!strings.Contains(err.Error(), "data.synthetic."+want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// ranged are jobs that use every setting between them.
func ranged(t *testing.T) []Job {
	var all []Job
	for _, kind := range model.Kinds() {
		j, err := Parse([]byte(generated+`
model: {kind: `+kind+`, rank: 1, sparse-tower: {layers: [4]}, dense-tower: {layers: [4]},
        heads: [{layers: [4]}], optimizer: {schedule: {decay: step, steps: 5, factor: 0.5}}}
rows: {optimizer: {schedule: {decay: step, steps: 5, factor: 0.5}}}
training: {staleness: 1}
`), "job.yaml")
		// The heads of the other kinds have no layers.
		if kind != model.FeedForward && kind != model.DLRM && kind != model.DCNv2 {
			j.Model.Heads = nil
			err = j.validateFile()
		}
		if err != nil {
			t.Fatal(err)
		}
		j.Data.Slots = append(j.Data.Slots, SlotSetting{Slot: "c1", Raw: 3,
			HashStack: batch.HashStack{Rounds: 2, Rows: 9}})
		all = append(all, j)
	}
	delayed, err := Parse([]byte(generated+"training: {mode: sequential, delay: exactly 3, delay-dense: "+
		"exactly 3}"), "job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	implicit, err := Parse([]byte("data: {kind: movielens-implicit, train: a, test: b, negatives: "+
		"{per-positive: 2}}"), "job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	implicit.Model.Optimizer.Kind, implicit.Rows.Optimizer.Kind = opt.SGD, opt.SGD
	return append(all, delayed, implicit)
}

// Every whole number of a job has a least and a greatest value, of which the error names the key: one that
// somebody adds needs them, too.
func TestEveryWholeNumberHasARange(t *testing.T) {
	free := []string{
		".Training.EvaluateEvery.Steps", // a run that is shorter has none
		".Data.OnBadRow.Skip",           // rows are counted, not kept
	}
	checked, missing := map[string]bool{}, map[string]string{}
	for _, j := range ranged(t) {
		var walk func(v reflect.Value, path string)
		walk = func(v reflect.Value, path string) {
			switch v.Kind() {
			case reflect.Pointer:
				if !v.IsNil() {
					walk(v.Elem(), path)
				}
			case reflect.Struct:
				for i := range v.NumField() {
					if v.Type().Field(i).IsExported() {
						walk(v.Field(i), path+"."+v.Type().Field(i).Name)
					}
				}
			case reflect.Slice:
				for i := range v.Len() {
					walk(v.Index(i), path)
				}
			case reflect.Int, reflect.Int32, reflect.Int64:
				if v.Type().PkgPath() == "tandem/algo/unit" {
					return // a time, or row-memory, of which TestNumbersOutOfRange has the range
				}
				was := v.Int()
				v.SetInt(math.MaxInt64)
				err := j.validateFile()
				v.SetInt(was)
				if err != nil {
					checked[path] = true
				} else {
					missing[path] = j.Model.Kind
				}
			}
		}
		walk(reflect.ValueOf(&j).Elem(), "")
	}
	for path, kind := range missing {
		if !checked[path] && !slices.Contains(free, path) {
			t.Errorf("%s has no greatest value (job of a %s)", path, kind)
		}
	}
	if len(checked) < 25 {
		t.Errorf("%d whole numbers found: %v", len(checked), checked)
	}
}

// What is too long, too deep or stands for more than itself is refused before it takes memory.
func TestDocumentsThatAreNone(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1,
			c-1, c-1, c-1, c-1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"long": {generated + "# " + strings.Repeat("x", DocumentBytesMax),
			"longer than 1048576 bytes"},
		"deep lists": {"name: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
			"nested deeper than 32 levels"},
		"deeper lists": {"name: " + strings.Repeat("[", 200_000), "max"},
		"deep keys": {"name: " + strings.Repeat("{a: ", 5000) + strings.Repeat("}", 5000),
			"nested deeper than 32 levels"},
		"aliases": {bomb, "job.yaml:1: a: anchors and aliases are not supported"},
		"a long key": {"{? " + strings.Repeat("x", 500_000) + ": 1}",
			`unknown key "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…": use one of`},
		"a long choice": {generated + "training: {mode: " + strings.Repeat("x", 500_000) + "}",
			"x…\" is unknown; known are"},
	} {
		_, err := Parse([]byte(c.text), "job.yaml")
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 500 {
			t.Errorf("%s: %.200v, want %s", name, err, c.want)
		}
	}
	path := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(path, make([]byte, DocumentBytesMax+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("a long file: %v", err)
	}
	if _, err := Load("/dev/zero"); err == nil || !strings.Contains(err.Error(),
		"longer than 1048576 bytes") {
		t.Errorf("a file without end: %v", err)
	}
}

// FuzzParse reads any text: a job that is read is valid, and reads back as itself from what it is written as.
func FuzzParse(f *testing.F) {
	f.Add([]byte(generated))
	f.Add([]byte("data: {kind: adult-income}\ntraining: {mode: ssp, mode-settings: {slack: 3}}\nroles: " +
		"{dense-ps: 2}\n"))
	for _, file := range []string{"generated", "conversions", "criteo-shaped", "criteo", "frappe"} {
		text, err := os.ReadFile("../../cmd/train/jobs/" + file + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := Parse(text, "job.yaml")
		if err != nil {
			var fault *Error
			if !errors.As(err, &fault) && !strings.HasPrefix(err.Error(), "job.yaml: ") {
				t.Errorf("error %v", err)
			}
			return
		}
		written, err := yaml.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written, "job.yaml")
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, written)
		}
		if twice, err := yaml.Marshal(again); err != nil || string(twice) != string(written) {
			t.Errorf("written as\n%s\nthen as\n%s", written, twice)
		}
	})
}
