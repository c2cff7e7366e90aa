package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/runtime/checkpoint"
)

// confined makes every file system read-only, for itself and the program that it becomes, which runs as a
// user without rights.
const confined = `
while read -r _ place _; do
	mount -o remount,bind,ro "$place" 2> /dev/null
done < /proc/mounts
if touch "$1/written" 2> /dev/null; then
	echo "no rights to mount" >&2
	exit 1
fi
shift
exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs "$@"
`

// A server needs no right to write: as a user without rights, where no file system can be written, it starts,
// answers, and changes to a newer model.
func TestServerWritesNothing(t *testing.T) {
	if os.Getuid() != 0 || exec.Command("unshare", "-m", "setpriv", "--reuid=65534", "true").Run() != nil {
		t.Skip("only root can mount file systems, with unshare and setpriv of util-linux")
	}
	folder := t.TempDir()
	table, one := saveWith(t, func(j *job.Job) { j.Training.GlobalBatch = 300 })
	_, two := saveWith(t, func(j *job.Job) { j.Training.GlobalBatch = 150 })
	want := [][]float32{expected(t, table, one)[:1], expected(t, table, two)[:1]}
	mode := filepath.Join(folder, "hybrid")
	place(t, one, checkpoint.StepFolder(filepath.Join(mode, "checkpoints"), 1))
	program := filepath.Join(folder, "serve")
	content, err := os.ReadFile(os.Args[0]) // it lies in a folder of root's
	if err == nil {
		err = os.WriteFile(program, content, 0o755)
	}
	for _, above := range []string{folder, filepath.Dir(folder)} {
		if err == nil {
			err = os.Chmod(above, 0o755)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("unshare", "-m", "sh", "-c", confined, "sh", folder, program, mode,
		"--reload", "10ms", "--http", "127.0.0.1:0")
	server.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH")}
	stderr, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p := killable{server}
	t.Cleanup(p.kill)
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	if strings.Contains(line, "no rights to mount") {
		t.Skip("root cannot mount file systems here")
	}
	address := addressOf(line)
	if address == "" {
		rest, _ := io.ReadAll(lines)
		t.Fatalf("%s%s%v", line, rest, err)
	}
	answer := func() []float32 {
		r, err := http.Post("http://"+address+"/v2/models/tandem/infer", "application/json",
			strings.NewReader(`{"inputs": [
			{"name": "user", "shape": [1], "datatype": "BYTES", "data": ["u0"]},
			{"name": "tags", "shape": [1], "datatype": "BYTES", "data": ["a0|b0"]},
			{"name": "price", "shape": [1], "datatype": "FP32", "data": [0]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var got struct{ Outputs []struct{ Data []float32 } }
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || len(got.Outputs) != 1 {
			t.Fatalf("%s: %+v, error %v", r.Status, got, err)
		}
		return got.Outputs[0].Data
	}
	if got := answer(); !slices.Equal(got, want[0]) {
		t.Errorf("%v, want %v", got, want[0])
	}
	place(t, two, checkpoint.StepFolder(filepath.Join(mode, "checkpoints"), 2))
	if line, err = lines.ReadString('\n'); !strings.Contains(line, "of step 2 replaces that of step 1") {
		t.Errorf("%q, error %v", line, err)
	}
	for end := time.Now().Add(10 * time.Second); !slices.Equal(answer(), want[1]); {
		if time.Now().After(end) {
			t.Fatalf("%v, want %v", answer(), want[1])
		}
	}
}
