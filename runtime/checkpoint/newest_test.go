package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
)

// The model in a folder is the folder itself, model or the newest checkpoint, with the most steps.
func TestWhereTheModelOfAFolderIs(t *testing.T) {
	s, m := small(t)
	root := t.TempDir()
	save := func(step int, path ...string) string {
		folder := filepath.Join(append([]string{root}, path...)...)
		m.Step = step
		if err := Save(folder, m, s); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	mode, ended := filepath.Join(root, "mode"), filepath.Join(root, "ended")
	checkpoints := filepath.Join(mode, "checkpoints")
	for _, empty := range []string{root, checkpoints, filepath.Join(checkpoints, "40"),
		filepath.Join(checkpoints, "x"), ended} {
		if err := os.MkdirAll(empty, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := NewestModel(mode); err == nil || HasModel(mode) {
		t.Errorf("a model without files: %v", err)
	}
	if _, ok, err := Newest(checkpoints); ok || err != nil {
		t.Errorf("a checkpoint without files: %t, %v", ok, err)
	}
	five, newest := save(5, "mode", "checkpoints", "5"), save(30, "mode", "checkpoints", "30")
	model, last := save(10, "mode", "model"), save(30, "ended", "model")
	save(30, "ended", "checkpoints", "30")
	for _, c := range []struct {
		folder, want string
		step         int
	}{
		{mode, newest, 30}, {checkpoints, newest, 30}, {five, five, 5}, {model, model, 10},
		{ended, last, 30}, // of equals the model
	} {
		got, manifest, err := NewestModel(c.folder)
		if err != nil || got != c.want || manifest.Step != c.step || !HasModel(c.folder) {
			t.Errorf("%s: %s, want %s, %v", c.folder, got, c.want, err)
		}
	}
	first, okFirst, errFirst := Oldest(checkpoints)
	step, ok, err := Newest(checkpoints)
	if first != 5 || !okFirst || errFirst != nil || step != 30 || !ok || err != nil {
		t.Errorf("the oldest is %d, %t, %v, and the newest %d, %t, %v", first, okFirst, errFirst, step, ok,
			err)
	}
	if _, _, err := Oldest(filepath.Join(root, "none")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(mode, "model", ManifestFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := NewestModel(mode); !IsDamage(err) || !HasModel(mode) {
		t.Errorf("a damaged manifest: %v", err)
	}
}
