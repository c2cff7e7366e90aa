//go:build unix

package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fragile is a file system that does something before, or in the middle of, one of its operations.
type fragile struct {
	disk
	at   int // the operation
	done int // operations so far
	fail func() error
	log  []string
}

// operate counts an operation.
func (f *fragile) operate(format string, args ...any) error {
	f.log = append(f.log, fmt.Sprintf(format, args...))
	if f.done++; f.done-1 == f.at {
		return f.fail()
	}
	return nil
}

func (f *fragile) Mkdir(name string) error {
	if err := f.operate("mkdir"); err != nil {
		return err
	}
	return f.disk.Mkdir(name)
}

func (f *fragile) Create(name string) (file, error) {
	base := filepath.Base(name)
	if err := f.operate("create %s", base); err != nil {
		return nil, err
	}
	out, err := f.disk.Create(name)
	return &fragileFile{f, out, base}, err
}

func (f *fragile) Rename(from, to string) error {
	if err := f.operate("rename"); err != nil {
		return err
	}
	return f.disk.Rename(from, to)
}

func (f *fragile) Link(old, name string) error {
	if err := f.operate("link %s", filepath.Base(name)); err != nil {
		return err
	}
	return f.disk.Link(old, name)
}

func (f *fragile) SyncFolder(name string) error {
	if err := f.operate("sync folder"); err != nil {
		return err
	}
	return f.disk.SyncFolder(name)
}

func (f *fragile) RemoveAll(name string) error {
	if err := f.operate("remove %s", filepath.Base(name)); err != nil {
		return err
	}
	return f.disk.RemoveAll(name)
}

type fragileFile struct {
	system *fragile
	file
	name string
}

// Write fails after half of the bytes.
func (f *fragileFile) Write(p []byte) (int, error) {
	n, err := f.file.Write(p[:len(p)/2])
	if err == nil {
		err = f.system.operate("write %s", f.name)
	}
	if err != nil {
		return n, err
	}
	rest, err := f.file.Write(p[n:])
	return n + rest, err
}

func (f *fragileFile) Sync() error {
	if err := f.system.operate("sync %s", f.name); err != nil {
		return err
	}
	return f.file.Sync()
}

// The environment of a child process that saves a model and dies, or has too little space.
const (
	folderVariable = "TANDEM_TEST_CHECKPOINTS"
	dieVariable    = "TANDEM_TEST_DIE_AT"
	wayVariable    = "TANDEM_TEST_WAY"
	limitVariable  = "TANDEM_TEST_FILE_LIMIT"
)

// TestChild is the child process of the tests below.
func TestChild(t *testing.T) {
	folder := os.Getenv(folderVariable)
	if folder == "" {
		t.Skip("only a child process of other tests")
	}
	q, m := small(t)
	if limit, err := strconv.Atoi(os.Getenv(limitVariable)); err == nil {
		limitFiles(t, uint64(limit))
		if err := Save(StepFolder(folder, 200), m, q); err == nil {
			t.Fatal("there was enough space")
		} else {
			fmt.Println("child:", err)
		}
		return
	}
	at, err := strconv.Atoi(os.Getenv(dieVariable))
	if err != nil {
		t.Fatal(err)
	}
	fs := &fragile{at: at, fail: func() error {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // does not return
		select {}
	}}
	way := ways[os.Getenv(wayVariable)]
	if err := errors.Join(way(t, fs, folder), prune(fs, folder, Keep{}, time.Time{})); err != nil {
		t.Fatal(err)
	}
	fmt.Println("child: done")
}

// child runs TestChild and returns what it printed.
func child(folder string, environment ...string) (string, error) {
	c := exec.Command(os.Args[0], "-test.run=^TestChild$")
	c.Env = append(append(os.Environ(), folderVariable+"="+folder), environment...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// checkpoints returns a folder with checkpoints after 50 and 100 steps.
func checkpoints(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	q, m := small(t)
	for _, step := range []int{50, 100} {
		if err := Save(StepFolder(folder, step), m, q); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// newest verifies the newest checkpoint of a folder, and returns its step.
func newest(t *testing.T, folder string) int {
	t.Helper()
	steps, _, err := list(folder)
	if err != nil || len(steps) == 0 {
		t.Fatalf("checkpoints %v, error %v", steps, err)
	}
	for _, step := range steps {
		c, err := Open(StepFolder(folder, step))
		if err == nil {
			err = errors.Join(c.Verify(), c.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return steps[len(steps)-1]
}

// A process that is killed at any operation leaves either the checkpoint before or the new one, never a part
// of one, and the next process cleans up and saves; so too if the new one has only the changes.
func TestKilledAtAnyOperation(t *testing.T) {
	operations := map[string][]string{
		"all rows": {"write rows-00000-of-00001.arrow", "sync rows-00000-of-00001.arrow",
			"write rows-hot.arrow", "sync rows-hot.arrow",
			"write dense.safetensors", "sync dense.safetensors", "write manifest.json", "sync manifest.json",
			"sync folder", "rename", "remove manifest.json", "remove 100"},
		"changes": {"link rows-00000-of-00001.arrow", "write rows-00000-of-00001-changes-1.arrow",
			"sync rows-00000-of-00001-changes-1.arrow", "link rows-hot.arrow",
			"write rows-hot-changes-1.arrow", "sync rows-hot-changes-1.arrow", "rename", "remove 100"},
	}
	for way, wants := range operations {
		t.Run(way, func(t *testing.T) {
			t.Parallel() // they wait for the disk
			killAtAnyOperation(t, way, wants)
		})
	}
}

// killAtAnyOperation is TestKilledAtAnyOperation for one way to save, which has some operations.
func killAtAnyOperation(t *testing.T, way string, wants []string) {
	q, m := small(t)
	counted := &fragile{at: -1}
	plain := checkpoints(t)
	err := errors.Join(ways[way](t, counted, plain), prune(counted, plain, Keep{}, time.Time{}))
	if err != nil {
		t.Fatal(err)
	}
	renamed := slices.Index(counted.log, "rename")
	for _, want := range wants {
		if !slices.Contains(counted.log, want) {
			t.Fatalf("no operation %q in %q", want, counted.log)
		}
	}
	// What no killed process shows: the names are on the disk before the folder has its own, and that too.
	around := counted.log[renamed-1 : renamed+2]
	if !slices.Equal(around, []string{"sync folder", "rename", "sync folder"}) {
		t.Errorf("around the renaming %q, want the folders synchronised", around)
	}
	for at, operation := range counted.log {
		folder := checkpoints(t)
		out, err := child(folder, fmt.Sprintf("%s=%d", dieVariable, at), wayVariable+"="+way)
		if err == nil || err.Error() != "signal: killed" {
			t.Fatalf("operation %d, %s: the child ended with %v:\n%s", at, operation, err, out)
		}
		want := 100
		if at > renamed {
			want = 200
		}
		if got := newest(t, folder); got != want {
			t.Errorf("killed at %s: the newest checkpoint has step %d, want %d", operation, got, want)
		}
		if want == 100 {
			if err := Save(StepFolder(folder, 200), m, q); err != nil {
				t.Errorf("killed at %s: the next save: %v", operation, err)
			}
		}
		if err := Prune(folder, Keep{}); err != nil {
			t.Error(err)
		}
		left, _ := os.ReadDir(folder)
		if len(left) != 1 || left[0].Name() != "200" || newest(t, folder) != 200 {
			t.Errorf("killed at %s: the folder has %v after the next save", operation, left)
		}
	}
}

// An operation that fails, as on a full disk, leaves no part of a checkpoint, and the error says why. Where
// only a further name of a file cannot be made, as on file systems without such names, all rows are written.
func TestFullDisk(t *testing.T) {
	for way, save := range ways {
		counted := &fragile{at: -1}
		if err := save(t, counted, checkpoints(t)); err != nil {
			t.Fatal(err)
		}
		for at, operation := range counted.log[:slices.Index(counted.log, "rename")+1] {
			folder := checkpoints(t)
			full := &fragile{at: at, fail: func() error { return syscall.ENOSPC }}
			err := save(t, full, folder)
			if linked, ok := strings.CutPrefix(operation, "link "); ok {
				if err != nil || newest(t, folder) != 200 ||
					!slices.Contains(full.log, "write "+linked) {
					t.Errorf("%s: error %v, and %q", operation, err, full.log)
				}
				continue
			}
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), StepFolder(folder, 200)) {
				t.Errorf("%s, %s: error %v", way, operation, err)
			}
			if left, _ := os.ReadDir(folder); len(left) != 2 || newest(t, folder) != 100 {
				t.Errorf("%s, %s: the folder has %v", way, operation, left)
			}
		}
	}
}

// The same where the kernel refuses to write.
func TestFileLimit(t *testing.T) {
	for _, limit := range []int{100, 1000} {
		folder := checkpoints(t)
		out, err := child(folder, fmt.Sprintf("%s=%d", limitVariable, limit))
		if err != nil || !strings.Contains(out, "200: rows-00000-of-00001.arrow: file too large") {
			t.Errorf("at most %d bytes: error %v:\n%s", limit, err, out)
		}
		if left, _ := os.ReadDir(folder); len(left) != 2 || newest(t, folder) != 100 {
			t.Errorf("at most %d bytes: the folder has %v", limit, left)
		}
	}
}

// Prune keeps the newest, at least one, and touches nothing else.
func TestPrune(t *testing.T) {
	folder := t.TempDir()
	q, m := small(t)
	for _, step := range []int{9, 10, 100, 20} {
		if err := Save(StepFolder(folder, step), m, q); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{"notes", "007", "-3"} {
		if err := os.Mkdir(filepath.Join(folder, other), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		keep int
		want []int
	}{{5, []int{9, 10, 20, 100}}, {3, []int{10, 20, 100}}, {0, []int{100}}, {1, []int{100}}} {
		if err := Prune(folder, Keep{Newest: c.keep}); err != nil {
			t.Fatal(err)
		}
		if got, _, err := list(folder); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("after keeping %d: %v, error %v; want %v", c.keep, got, err, c.want)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) != 4 {
		t.Errorf("%v", left)
	}
	if got, _, err := list(filepath.Join(folder, "none")); err != nil || got != nil {
		t.Errorf("a folder that does not exist: %v, error %v", got, err)
	}
}

// A damaged checkpoint is renamed, each time to a new name, and no longer the newest. One that is intact
// stays: the fault is then not in its files.
func TestOnlyDamagedCheckpointsAreSetAside(t *testing.T) {
	folder := t.TempDir()
	q, m := small(t)
	one := StepFolder(folder, 9)
	for n, aside := range []string{one + ".damaged", one + ".damaged-2"} {
		if err := Save(one, m, q); err != nil {
			t.Fatal(err)
		}
		if err := SetAside(one); err == nil || !strings.Contains(err.Error(), "is intact") {
			t.Errorf("an intact checkpoint: error %v", err)
		}
		flipBit(t, filepath.Join(one, RowsFile(0, 1)))
		if err := SetAside(one); err != nil {
			t.Errorf("damaged for the %d. time: %v", n+1, err)
		}
		if _, err := os.Stat(aside); err != nil {
			t.Error(err)
		}
	}
	if _, found, err := Newest(folder); found || err != nil {
		t.Errorf("there is a newest checkpoint: %t, error %v", found, err)
	}
	if err := SetAside(one); err != nil {
		t.Errorf("a checkpoint that does not exist: %v", err)
	}
}

// flipBit damages a file.
func flipBit(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The newest checkpoint that is intact is opened, whichever file of newer ones is damaged. There is an error
// where all are, and for a checkpoint that is not damaged but of another format.
func TestNewestIntactCheckpointIsOpened(t *testing.T) {
	folder := t.TempDir()
	if c, damaged, err := OpenNewest(folder); c != nil || damaged != nil || err != nil {
		t.Errorf("an empty folder: %v, %v, error %v", c, damaged, err)
	}
	q, m := small(t)
	for step := 8; step <= 12; step++ {
		if err := Save(StepFolder(folder, step), m, q); err != nil {
			t.Fatal(err)
		}
	}
	for n, file := range []string{"", RowsFile(0, 1), DenseFile, ManifestFile} {
		if n > 0 {
			flipBit(t, filepath.Join(StepFolder(folder, 13-n), file))
		}
		c, damaged, err := OpenNewest(folder)
		if err != nil || c.Folder() != StepFolder(folder, 12-n) || len(damaged) != n {
			t.Fatalf("%d are damaged: %v, error %v", n, damaged, err)
		}
		lines := PassedOver(damaged, c)
		if n > 0 && (!strings.Contains(lines[n-1], file) ||
			!strings.HasSuffix(lines[n-1], "; training continues with "+c.Folder()+" instead")) {
			t.Errorf("%q", lines)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	other := filepath.Join(StepFolder(folder, 9), ManifestFile)
	good, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	next := bytes.Replace(good, []byte(`"version": 2`), []byte(`"version": 11`), 1)
	if err := os.WriteFile(other, next, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenNewest(folder); err == nil || !strings.HasSuffix(err.Error(), errOther.Error()) {
		t.Errorf("another version: %v", err)
	}
	if err := os.WriteFile(other, good[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	flipBit(t, filepath.Join(StepFolder(folder, 8), JobFile))
	if _, _, err := OpenNewest(folder); err == nil || !strings.Contains(err.Error(), " is intact: ") ||
		strings.Count(err.Error(), "model ") != 5 || !strings.Contains(err.Error(), JobFile) {
		t.Errorf("all are damaged: %v", err)
	}
}
