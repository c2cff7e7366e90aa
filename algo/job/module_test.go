package job_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
)

const moduleText = "class Net:\n\thidden = 16  # τ\n"

// moduleJob writes a job with a module, and returns the files of both.
func moduleJob(t *testing.T, module string) (path, file string) {
	folder := t.TempDir()
	path, file = filepath.Join(folder, "job.yaml"), filepath.Join(folder, "net.py")
	text := "data: {kind: csv, path: a.csv, csv: {slots: [{column: a}], label: b}}\n" +
		"model: {kind: torch, file: net.py, class: Net, embedding-dim: 4}\n"
	for name, text := range map[string]string{path: text, file: module} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path, file
}

// A job has the text of its module, also after it was written and read again when the file has changed by
// then.
func TestJobsHaveTheTextOfTheirModule(t *testing.T) {
	path, file := moduleJob(t, moduleText)
	j, err := job.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if j.Model.Source != moduleText || j.Model.File != file {
		t.Errorf("%q of %s, want %q of %s", j.Model.Source, j.Model.File, moduleText, file)
	}
	text, err := yaml.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "saved.yaml")
	if err := os.WriteFile(saved, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	back, err := job.Load(saved)
	if err != nil {
		t.Fatal(err)
	}
	if back.Model.Source != moduleText {
		t.Errorf("%q after writing and reading, want %q", back.Model.Source, moduleText)
	}
}

// A module that has changed since is named with the line, by the check of a saved job and by the comparison
// with a job that reads it now.
func TestChangedModulesAreNamed(t *testing.T) {
	path, file := moduleJob(t, moduleText)
	j, err := job.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := job.CheckModule(&j.Model.Spec); err != nil {
		t.Errorf("unchanged: %v", err)
	}
	changed := strings.Replace(moduleText, "16", "32", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "net.py has changed since the job was written: line 2 was \"hidden = 16  # τ\" and is " +
		"\"hidden = 32  # τ\"; undo that, or rename the file"
	if err := job.CheckModule(&j.Model.Spec); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	now, err := job.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := now.DifferenceButRoles(j)
	if err != nil || d == nil {
		t.Fatalf("%v, %v", d, err)
	}
	want = `line 2 of model.source is "hidden = 32  # τ", and "hidden = 16  # τ" there`
	if d.String() != want {
		t.Errorf("%s, want %s", d, want)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := job.CheckModule(&j.Model.Spec); err != nil {
		t.Errorf("without the file: %v", err)
	}
	for what, there := range map[string]string{
		"a file in the place of a folder": filepath.Join(path, "net.py"),
		"a folder in the place of a file": filepath.Dir(path),
	} {
		j.Model.File = there
		if err := job.CheckModule(&j.Model.Spec); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A float of the arguments is one in Python, also after the job was written and read again.
func TestFloatsOfModulesStayFloats(t *testing.T) {
	path, _ := moduleJob(t, moduleText)
	j, err := job.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	arguments := "{big: 1e+20, hidden: [2, 2.0], inner: {scale: -3.0}, rate: 0.5}"
	if err := yaml.Unmarshal([]byte(arguments), &j.Model.Arguments); err != nil {
		t.Fatal(err)
	}
	if err := job.ReadModule(&j.Model.Spec); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := json.Marshal(j.Model.Arguments)
		want := `{"big":1e+20,"hidden":[2,2.0],"inner":{"scale":-3.0},"rate":0.5}`
		if err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
		text, err := yaml.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if j, err = job.Load(path); err != nil {
			t.Fatal(err)
		}
	}
	j.Model.Arguments = map[string]any{"most": math.Inf(1)}
	if err := job.ReadModule(&j.Model.Spec); err != nil {
		t.Fatal(err)
	}
	_, err = json.Marshal(j.Model.Arguments)
	if err == nil || !strings.Contains(err.Error(), "+Inf is not finite") {
		t.Errorf("infinity: %v", err)
	}
}

// A job is the same in any folder: processes of a run on several machines agree on it, and a training is
// resumed elsewhere.
func TestModulesAreTheSameInAnyFolder(t *testing.T) {
	var jobs []job.Job
	var prints []string
	for range 2 {
		path, _ := moduleJob(t, moduleText)
		j, err := job.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		print, err := j.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		jobs, prints = append(jobs, j), append(prints, string(print))
	}
	if d, err := jobs[0].DifferenceButRoles(jobs[1]); err != nil || d != nil {
		t.Errorf("%v, %v", d, err)
	}
	if prints[0] != prints[1] {
		t.Errorf("fingerprints %x and %x", prints[0], prints[1])
	}
}

// A file that cannot be the text of a module is refused by name.
func TestModulesThatAreNoText(t *testing.T) {
	for text, want := range map[string]string{
		"\xff\xfe":                     "net.py is not UTF-8",
		strings.Repeat("#", 256<<10+1): "net.py: longer than 262144 bytes",
		"":                             "", // absent
	} {
		path, file := moduleJob(t, text)
		if text == "" {
			want = "model.file: open " + file
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := job.Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
