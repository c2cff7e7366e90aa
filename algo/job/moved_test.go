package job_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tandem/algo/job"
)

// A key that has moved is refused, with its line and its new name; the new name is a key that can be written.
func TestFormerKeysNameTheNewOnes(t *testing.T) {
	const data = "data: {kind: adult-income}\n"
	for former, now := range map[string]string{
		"dense-optimizer: {rate: 0.1}": "model.optimizer", "dense-precision: fp32": "model.precision",
		"row-optimizer: {rate: 0.1}": "rows.optimizer", "row-init: 0.1": "rows.init",
		"row-admission: 0.5": "rows.admission",
		"row-capacity: 5":    "rows.capacity", "row-memory: 1MiB": "rows.memory",
		"row-eviction: refuse": "rows.eviction",
		"row-precision: bf16":  "rows.precision", "ranks: 2": "roles.ranks",
		"embedding-workers: 1": "roles.embedding-workers",
		"parameter-servers: 1": "roles.embedding-ps", "dense-servers: 1": "roles.dense-ps",
		"placement: apart": "roles.placement",
		"wire: fp16":       "wire.precision", "index: raw": "wire.index", "retry: 1s": "wire.retry",
		"model: {kind: fm}": "model", "faults: {drop: 0.1}": "faults",
	} {
		key, value, _ := strings.Cut(former, ": ")
		_, err := job.Parse([]byte(data+"training:\n  "+former+"\n"), "job.yaml")
		want := fmt.Sprintf("job.yaml:3: training: unknown key %q: %s is now ", key, key)
		if err == nil || !errors.Is(err, job.ErrUnknownKey) || !strings.HasPrefix(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), now) {
			t.Errorf("%s: %v, want %q and %q", former, err, want, now)
		}
		section, key, nested := strings.Cut(now, ".")
		text := fmt.Sprintf("%s: %s\n", section, value)
		if nested {
			text = fmt.Sprintf("%s: {%s: %s}\n", section, key, value)
		}
		if _, err := job.Parse([]byte(data+text), "job.yaml"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := job.Parse([]byte(data+"cluster: {parameter-servers: {count: 3}}"), "job.yaml")
	if err == nil || !strings.HasSuffix(err.Error(), "parameter-servers is now cluster.embedding-ps") {
		t.Error(err)
	}
}

// How the ids of a column are looked up is set by slot, and below a column an error says so.
func TestSettingsOfASlotBelowAColumn(t *testing.T) {
	for _, key := range []string{"pooling", "dim", "raw"} {
		text := "data:\n  kind: csv\n  csv:\n    slots: [{column: a, " + key + ": 1}]\n"
		want := fmt.Sprintf("job.yaml:4: data.csv.slots[0]: unknown key %q: how a column's ids are looked "+
			"up is said in data.slots", key)
		_, err := job.Parse([]byte(text), "job.yaml")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
}
