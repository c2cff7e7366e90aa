//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// asArriving makes the test binary a training on the rows that arrive in a folder of its results.
const asArriving = "TANDEM_TEST_ARRIVING"

// The files of a soak have soakRows rows, in soakSteps steps.
const soakRows, soakSteps = 60, 15

// followUntilKilled trains on the files that arrive from the newest checkpoint in a folder on. It saves after
// every file, and keeps beside the checkpoints what the training predicts at each.
func followUntilKilled(results string) error {
	j, err := job.Load(filepath.Join(results, "followed.yaml"))
	if err != nil {
		return err
	}
	f := &followedTraining{job: j, results: results,
		saver: checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 20}}}
	newest, _, err := checkpoint.OpenNewest(f.checkpoints())
	if err != nil {
		return err
	}
	ledgers, err := filepath.Glob(filepath.Join(results, "ledger-*"))
	if err != nil {
		return err
	}
	var stream *datasets.Stream
	o := train.Options{SaveEvery: soakSteps}
	if newest == nil {
		stream, f.data, err = datasets.Follow(context.Background(), j.Data, "", "", nil,
			func(time.Duration) {})
	} else {
		o.Begin = train.Begin{Step: newest.Step, Model: newest}
		last := slices.DeleteFunc(ledgers, func(name string) bool { // one that was killed before it wrote
			text, err := os.ReadFile(name)
			return err != nil || !bytes.Contains(text, []byte{'\n'})
		})
		stream, f.data, err = datasets.FollowOn(j.Data, "", last[len(last)-1], nil)
	}
	if err != nil {
		return err
	}
	f.source = stream
	ledger := filepath.Join(results, fmt.Sprintf("ledger-%d", time.Now().UnixMilli()))
	if err := stream.Begin(&j, ledger); err != nil {
		return err
	}
	keep := func(b *batch.Batch, _ float64) error { f.rows = b; return nil }
	if err := datasets.ReadFeatures(j.Data, f.data.Scaling, filepath.Join(results, "table.csv"),
		keep); err != nil {
		return err
	}
	o.Save = f.saveAndPredict
	_, err = train.Follow(context.Background(), j, stream, o, train.FollowOptions{})
	return err
}

// soak is what clients have seen of a training that is followed.
type soak struct {
	results string
	body    []byte // of a request for the first 50 rows

	mu            sync.Mutex
	address       string
	version       int               // that was answered last
	known         map[int][]float32 // predictions of the training, by version
	predictions   int
	lost          string    // the address of the server that was killed last
	down          time.Time // when the server was killed; zero: it was not, or has answered since
	killed        time.Time // when the training was killed, and no version of it has been answered since
	outages       []time.Duration
	arrived       map[int]time.Time // of files that are not served, by their last step
	disturbed     bool              // a side was killed after the oldest of them
	delays, kills []time.Duration   // from a file to its predictions; of those with a kill on the way
}

// ask asks once, and checks that the answer is what the training had at its version.
func (s *soak) ask() error {
	s.mu.Lock()
	address := s.address
	s.mu.Unlock()
	response, err := http.Post("http://"+address+"/v2/models/tandem/infer", "application/json",
		bytes.NewReader(s.body))
	var got struct {
		Version string `json:"model_version"`
		Outputs []struct{ Data []float32 }
	}
	if err == nil {
		err = json.NewDecoder(response.Body).Decode(&got)
		_ = response.Body.Close() // it was read
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if s.lost == address {
			return nil
		}
		return err
	}
	if response.StatusCode != http.StatusOK || len(got.Outputs) != 1 {
		return fmt.Errorf("status %s", response.Status)
	}
	version, err := strconv.Atoi(got.Version)
	if err != nil {
		return err
	}
	if s.known[version] == nil {
		data, err := os.ReadFile(filepath.Join(s.results, got.Version))
		if err != nil {
			return err
		}
		s.known[version] = make([]float32, len(data)/4)
		if _, err := binary.Decode(data, binary.LittleEndian, s.known[version]); err != nil {
			return err
		}
	}
	if !slices.Equal(got.Outputs[0].Data, s.known[version][:50]) {
		return fmt.Errorf("version %d: predictions that the training did not have", version)
	}
	s.predictions += 50
	s.note(version, address)
	return nil
}

// note notes an answer by a version, from an address.
func (s *soak) note(version int, address string) {
	now := time.Now()
	if !s.down.IsZero() && address != s.lost {
		s.outages, s.down = append(s.outages, now.Sub(s.down)), time.Time{}
	}
	if version <= s.version {
		return
	}
	s.version = version
	for end, at := range s.arrived {
		if end > version {
			continue
		}
		if s.disturbed {
			s.kills = append(s.kills, now.Sub(at))
		} else {
			s.delays = append(s.delays, now.Sub(at))
		}
		delete(s.arrived, end)
	}
	if s.killed.IsZero() && s.down.IsZero() && len(s.arrived) == 0 {
		s.disturbed = false
	}
	s.killed = time.Time{}
}

// For ten minutes rows arrive, are trained on, and served by programs of which one or the other is killed
// every half minute. Of a million predictions none is another than that of its version. The test prints how
// long rows take from when their file was renamed into the folder, and how long no answers came.
func TestTenMinutesOfRowsThatArrive(t *testing.T) {
	if !*long {
		t.Skip("it takes ten minutes: -long -timeout 20m")
	}
	const files, least = 1000, 1_000_000
	const every, killEvery = 600 * time.Millisecond, 50 // files
	results := t.TempDir()
	s, arrive := newSoak(t, results)
	arrive(0)
	trainer := func() killable {
		p, _ := startAs(t, asArriving+"="+results)
		return p
	}
	server := func() killable {
		p, address := startAs(t, asProgram+"=1", "--follow", results, "--reload", "100ms", "--http",
			"127.0.0.1:0")
		s.mu.Lock()
		s.address = address
		s.mu.Unlock()
		return p
	}
	training, serving := trainer(), server()
	stop := make(chan struct{})
	var clients sync.WaitGroup
	defer clients.Wait()
	defer close(stop)
	for range 2 {
		clients.Go(func() {
			for {
				if err := s.ask(); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	for file := 1; file < files && !t.Failed(); file++ {
		time.Sleep(every)
		arrive(file)
		switch {
		case file%killEvery != 0:
		case file/killEvery%2 == 1:
			training.kill()
			s.mu.Lock()
			s.killed, s.disturbed = time.Now(), true
			s.mu.Unlock()
			training = trainer()
		default:
			s.mu.Lock()
			s.lost, s.down, s.disturbed = s.address, time.Now(), true
			s.mu.Unlock()
			serving.kill()
			serving = server()
		}
	}
	for deadline := time.Now().Add(time.Minute); !t.Failed(); time.Sleep(100 * time.Millisecond) {
		s.mu.Lock()
		version := s.version
		s.mu.Unlock()
		if version == files*soakSteps {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("version %d is served a minute after the last file, want %d", version, files*soakSteps)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.predictions < least {
		t.Errorf("%d predictions, want %d", s.predictions, least)
	}
	for _, of := range []struct {
		name string
		all  []time.Duration
	}{{"a file to its predictions", s.delays}, {"the same with a kill on the way", s.kills},
		{"killing the server to an answer", s.outages}} {
		slices.Sort(of.all)
		if len(of.all) == 0 {
			t.Fatalf("nothing was measured from %s", of.name)
		}
		t.Logf("from %s: median %v, worst %v of %d", of.name, of.all[len(of.all)/2].Round(time.Millisecond),
			of.all[len(of.all)-1].Round(time.Millisecond), len(of.all))
	}
	t.Logf("%d predictions, each that of its version", s.predictions)
}

// newSoak prepares the job of a soak in the folder of its results, and returns what lets a file arrive.
func newSoak(t *testing.T, results string) (s *soak, arrive func(file int)) {
	t.Helper()
	j := followedJob(t)
	table, err := os.ReadFile(j.Data.Path)
	if err != nil {
		t.Fatal(err)
	}
	users, tags, prices := columns(t, j.Data.Path)
	input := func(name, datatype string, data any) map[string]any {
		return map[string]any{"name": name, "shape": []int{50}, "datatype": datatype, "data": data}
	}
	s = &soak{results: results, known: map[int][]float32{}, arrived: map[int]time.Time{}}
	s.body, err = json.Marshal(map[string]any{"inputs": []any{input("user", datatypeBytes, users[:50]),
		input("tags", datatypeBytes, tags[:50]), input("price", datatypeFP32, prices[:50])}})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(results, "rows")
	j.Data = job.Data{Kind: job.KindFollow, Path: folder, CSV: j.Data.CSV}
	j.Training.Shuffle, j.Training.Epochs = false, 1
	text, err := yaml.Marshal(j.Resolved())
	if err == nil {
		err = os.Mkdir(folder, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(results, "followed.yaml"), text, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(results, "table.csv"), table, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(table), "\n"), "\n")
	header, rows := lines[0], lines[1:]
	return s, func(file int) {
		var text strings.Builder
		text.WriteString(header)
		for row := range soakRows {
			text.WriteString(strings.TrimSuffix(rows[(file*soakRows+row)%len(rows)], "\n") + "\n")
		}
		name := filepath.Join(folder, fmt.Sprintf("%06d.csv", file))
		err := os.WriteFile(name+".tmp", []byte(text.String()), 0o644)
		s.mu.Lock()
		s.arrived[(file+1)*soakSteps] = time.Now()
		s.mu.Unlock()
		if err == nil {
			err = os.Rename(name+".tmp", name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
