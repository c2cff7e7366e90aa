//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	algoexec "tandem/algo/exec"
	"tandem/algo/job"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// asTrainer makes the test binary a training, of the job in a folder, that saves its models there.
const asTrainer = "TANDEM_TEST_FOLLOWED"

// saveAndPredict saves a checkpoint, and beside the checkpoints what the training predicts at it.
func (f *followedTraining) saveAndPredict(step int, state algoexec.State) error {
	p, err := f.predict(state)
	if err != nil {
		return err
	}
	data, err := binary.Append(nil, binary.LittleEndian, p)
	if err == nil {
		err = os.WriteFile(filepath.Join(f.results, strconv.Itoa(step)), data, 0o644)
	}
	if err == nil {
		err = f.save(step, state)
	}
	if err == nil {
		err = checkpoint.Prune(f.checkpoints(), checkpoint.Keep{Newest: 3})
	}
	return err
}

// trainUntilKilled trains a job from the newest checkpoint in the folder of its results on. Beside the
// checkpoints it keeps what the training predicts at each.
func trainUntilKilled(results string) error {
	j, err := job.Load(filepath.Join(results, "followed.yaml"))
	if err != nil {
		return err
	}
	f, err := newFollowedTraining(j, results)
	if err != nil {
		return err
	}
	begin, _, err := checkpoint.OpenNewest(f.checkpoints())
	if err != nil {
		return err
	}
	o := train.Options{SaveEvery: everySteps, Save: f.saveAndPredict}
	if begin != nil {
		o.Begin = train.Begin{Step: begin.Step, Model: begin}
	}
	_, err = train.Run(context.Background(), j, f.source, f.data.Test, o)
	return err
}

// killable is the test binary as another program.
type killable struct{ *exec.Cmd }

// startAs starts the test binary as another program, and returns the first line that it prints with an
// address, if it is the server.
func startAs(t *testing.T, environment string, args ...string) (p killable, address string) {
	t.Helper()
	p.Cmd = exec.Command(os.Args[0], args...)
	p.Env = append(os.Environ(), environment)
	stderr, err := p.StderrPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	lines := bufio.NewReader(stderr)
	for len(args) > 0 && address == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%s%v", line, err)
		}
		address = addressOf(line)
	}
	go io.Copy(io.Discard, lines)
	return p, address
}

// kill kills the program, as a machine that loses its power does.
func (p killable) kill() {
	_ = p.Process.Kill() // it may have ended
	_ = p.Wait()
}

// Whichever side is killed, at any moment, the server answers with the bits that the training had at the
// version in the answer. It goes on with the model that it has while the training is gone, follows the
// training that continues, and begins with the newest model when it was killed itself.
func TestServingOutlivesKills(t *testing.T) {
	results := t.TempDir()
	j := followedJob(t)
	j.Training.Epochs = 1_000
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(results, "followed.yaml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	users, tags, prices := columns(t, j.Data.Path)
	input := func(name, datatype string, data any) map[string]any {
		return map[string]any{"name": name, "shape": []int{50}, "datatype": datatype, "data": data}
	}
	body, err := json.Marshal(map[string]any{"inputs": []any{input("user", datatypeBytes, users[:50]),
		input("tags", datatypeBytes, tags[:50]), input("price", datatypeFP32, prices[:50])}})
	if err != nil {
		t.Fatal(err)
	}
	var address string
	ask := func() (version int) {
		t.Helper()
		response, err := http.Post("http://"+address+"/v2/models/tandem/infer", "application/json",
			bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var got struct {
			Version string `json:"model_version"`
			Outputs []struct{ Data []float32 }
		}
		text, err := io.ReadAll(response.Body)
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || len(got.Outputs) != 1 {
			t.Fatalf("%s, error %v", text, err)
		}
		data, err := os.ReadFile(filepath.Join(results, got.Version))
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float32, len(data)/4)
		if _, err := binary.Decode(data, binary.LittleEndian, want); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Outputs[0].Data, want[:50]) {
			t.Errorf("version %s: predictions that the training did not have", got.Version)
		}
		version, err = strconv.Atoi(got.Version)
		if err != nil {
			t.Fatal(err)
		}
		return version
	}
	until := func(version int) (now int) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); now < version; time.Sleep(10 * time.Millisecond) {
			if now = ask(); time.Now().After(deadline) {
				t.Fatalf("version %d is served, want %d", now, version)
			}
		}
		return now
	}
	trainer := func() killable {
		p, _ := startAs(t, asTrainer+"="+results)
		return p
	}
	server := func() (p killable) {
		p, address = startAs(t, asProgram+"=1", "--follow", results, "--reload", "10ms", "--http",
			"127.0.0.1:0")
		return p
	}
	training, serving := trainer(), server()
	now := until(1)
	for range 3 {
		now = until(now + 4*everySteps)
		training.kill()
		if v := ask(); v < now {
			t.Errorf("version %d is served after %d", v, now)
		}
		training = trainer()
		now = until(now + 4*everySteps)
		serving.kill()
		serving = server()
		if v := ask(); v < now {
			t.Errorf("version %d is served after %d", v, now)
		}
	}
}
