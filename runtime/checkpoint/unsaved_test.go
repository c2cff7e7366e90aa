//go:build unix

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/algo/exec"
)

// With Failed, a model that cannot be written, from any operation on, is reported with its folder, and the
// models before stay. The next one is written when there is space again. All of its rows are, because there
// is none before that it could follow.
func TestAFullDiskIsReported(t *testing.T) {
	counted := &fragile{at: -1}
	q, m := small(t)
	if err := save(counted, StepFolder(checkpoints(t), 200), m, q); err != nil {
		t.Fatal(err)
	}
	for at, operation := range counted.log {
		if operation == "rename" {
			break
		}
		folder := checkpoints(t)
		var failed []error
		full := &fragile{at: at, fail: func() error { return syscall.ENOSPC }}
		s := Saver{fs: full, Chain: Chain{FullEvery: 9},
			Failed: func(err error) { failed = append(failed, err) }}
		if err := s.Save(StepFolder(folder, 200), m, q); err != nil {
			t.Fatal(err)
		}
		if at%2 == 0 { // otherwise the next Save waits
			if err := s.Wait(); !errors.Is(err, syscall.ENOSPC) || newest(t, folder) != 100 {
				t.Errorf("%s: error %v, and the newest checkpoint has step %d", operation, err,
					newest(t, folder))
			}
		}
		if err := s.Save(StepFolder(folder, 300), m, q); err != nil {
			t.Errorf("%s: the next save: %v", operation, err)
		}
		if err := s.Wait(); err != nil {
			t.Errorf("%s: the next save: %v", operation, err)
		}
		if len(failed) != 1 || !errors.Is(failed[0], syscall.ENOSPC) ||
			!strings.Contains(failed[0].Error(), StepFolder(folder, 200)) {
			t.Errorf("%s: reported %v", operation, failed)
		}
		left, err := os.ReadDir(folder)
		if err != nil || len(left) != 3 || newest(t, folder) != 300 {
			t.Errorf("%s: the folder has %v, error %v", operation, left, err)
		}
	}
}

// slow is a disk on which each write waits until it may begin.
type slow struct {
	disk
	may chan struct{}
}

func (s slow) Create(name string) (file, error) {
	f, err := s.disk.Create(name)
	return slowFile{f, s.may}, err
}

type slowFile struct {
	file
	may chan struct{}
}

func (f slowFile) Write(p []byte) (int, error) {
	<-f.may
	return f.file.Write(p)
}

// While a disk stands still, training goes on, and there is no checkpoint. The one that comes in the end has
// the rows of the moment at which it was saved.
func TestASlowDiskDoesNotStopTraining(t *testing.T) {
	q, m := small(t)
	want := contents(q)
	s := Saver{fs: slow{may: make(chan struct{})}, Buffer: make([]byte, 1<<20)}
	folder := t.TempDir()
	if err := s.Save(StepFolder(folder, 1), m, q); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		changeFirst(q)
	}
	if _, found, err := Newest(folder); found || err != nil {
		t.Errorf("a checkpoint that is being written is found: %t, error %v", found, err)
	}
	next := make(chan error, 1)
	go func() { next <- s.Save(StepFolder(folder, 2), m, q) }()
	select {
	case err := <-next:
		t.Errorf("the next one does not wait: error %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(s.fs.(slow).may)
	if err := errors.Join(<-next, s.Wait()); err != nil {
		t.Fatal(err)
	}
	if now := contents(q); now == want {
		t.Error("training did not go on")
	}
	for step, want := range []string{want, contents(q)} {
		c, err := OpenIntact(StepFolder(folder, step+1))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := empty(t)
		if _, err := c.Restore(got); err != nil || contents(got) != want {
			t.Errorf("checkpoint %d has other rows than the moment; error %v", step+1, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// contents returns the digests of the rows of a state, as text.
func contents(s exec.State) (all string) {
	for owner := range s.Plan().Owners() {
		all += fmt.Sprintf(" %x", s.Tables(owner)[0].Digest())
	}
	return all
}
