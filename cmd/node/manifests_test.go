package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/internal/pythontest"
	"tandem/runtime/cuda/softgpu"
	"tandem/runtime/gpuhealth"
)

var (
	long    = flag.Bool("long", false, "decode manifests into the types of Kubernetes and Compose")
	rewrite = flag.Bool("rewrite", false, "write the expected manifests again")
)

// clusterJobs are the jobs of the golden files: one of two GPUs, a large one in async-ps, and one with a
// placement.
var clusterJobs = map[string]struct {
	job        string
	args       []string
	kubernetes []string // and these, for Kubernetes alone
}{
	"gpu": {job: `
name: gpu
data:
  kind: synthetic
  synthetic: {train-rows: 6000, test-rows: 50, columns: [{name: id, cardinality: 500, zipf: 1.1}]}
model: {kind: feed-forward, embedding-dim: 8, top: [32], device: cuda}
training: {mode: sync, global-batch: 20, groups: 4}
roles: {ranks: 2, embedding-workers: 1, embedding-ps: 2}
wire: {all-reduce: nccl-tree}
`},
	"served": {job: `
name: Clicks_2
data: {kind: criteo, path: "s3://bucket/day_$0.gz"}
model: {kind: dlrm, embedding-dim: 16, bottom: [64], top: [64]}
rows: {memory: 200GiB}
training: {mode: async-ps, global-batch: 4096}
roles: {ranks: 16, embedding-workers: 8, embedding-ps: 24, dense-ps: 4}
`, args: []string{"--data", "clicks", "--image", "registry.example/tandem:1", "--resource",
		"nn-worker=8,16GiB"}, kubernetes: []string{"--secret", "s3", "--storage-class", "standard-rwx",
		"--node-selector", "embedding-ps=cloud.google.com/gke-nodepool:rows"}},
	"placed": {job: `
name: placed
data: {kind: adult-income}
model: {kind: feed-forward, embedding-dim: 8, top: [32], device: cuda}
training: {mode: hybrid, global-batch: 128}
roles: {ranks: 2, embedding-workers: 2, embedding-ps: 1, placement: workers}
`},
}

// made returns the output of manifests for a job, kept in a file.
func made(t *testing.T, job, target string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(job), 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if code := run(append([]string{"manifests", "--file", file, "--target", target}, args...), &out,
		os.Stderr); code != 0 {
		t.Fatalf("manifests: exit status %d", code)
	}
	return out.String()
}

func TestManifests(t *testing.T) {
	for name, c := range clusterJobs {
		for target, file := range targets {
			args := c.args
			if target == "kubernetes" {
				args = slices.Concat(args, c.kubernetes)
			}
			got := made(t, c.job, target, args...)
			golden := filepath.Join("testdata", "manifests", name+"-"+file)
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || got != string(want) {
				t.Errorf("%s differs from what is made (go test ./cmd/node -rewrite): %v", golden, err)
			}
			check(t, target, golden, got)
		}
	}
}

// check refuses what is not YAML, or not a script.
func check(t *testing.T, target, name, text string) {
	t.Helper()
	if target == "slurm" {
		if out, err := exec.Command("bash", "-n", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", name, err, out)
		}
		return
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document map[string]any
		err := decoder.Decode(&document)
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// The manifests decode strictly into the types of the libraries of Kubernetes and Compose, in a module of
// their own, because these take longer to build than all of Tandem.
func TestManifestsAreOfTheTypesOfTheirTargets(t *testing.T) {
	if !*long {
		t.Skip("fetches and builds the types: -long")
	}
	command := exec.Command("go", "run", ".", "..")
	command.Dir = filepath.Join("testdata", "manifests", "types")
	command.Env = append(os.Environ(), "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// indexed is what the test needs of a Job of Kubernetes.
type indexed struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Completions int
		Template    struct {
			Spec struct {
				Containers []struct{ Args []string }
			}
		}
	}
}

// commands returns the arguments of every process that manifests of Kubernetes describe, on this machine: the
// host listens at an address, the others anywhere.
func commands(t *testing.T, manifests, name, host, job, saved string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	decoder := yaml.NewDecoder(strings.NewReader(manifests))
	for {
		var j indexed
		if err := decoder.Decode(&j); err == io.EOF {
			return all
		} else if err != nil && j.Kind == "Job" {
			t.Fatal(err)
		}
		if j.Kind != "Job" {
			continue
		}
		for index := range j.Spec.Completions {
			here := strings.NewReplacer("$(INDEX)", strconv.Itoa(index), "$(POD_IP):7301", "127.0.0.1:0",
				"0.0.0.0:7300", host, name+"-host:7300", host, "0.0.0.0:9090", "127.0.0.1:0",
				"/job/job.yaml", job, "/checkpoints", saved, "10m", "20s", "/tls",
				filepath.Join(filepath.Dir(job), "tls"))
			var args []string
			for _, a := range j.Spec.Template.Spec.Containers[0].Args {
				if a != "--checkpoints" && a != "--checkpoint-every" {
					a = here.Replace(a)
				}
				args = append(args, a)
			}
			all[strings.TrimPrefix(j.Metadata.Name, name+"-")+" "+strconv.Itoa(index)] = args
		}
	}
}

// pod is a process that is started again, with the same command, until it ends with success, as a Job of
// Kubernetes does.
type pod struct {
	args    []string
	mu      sync.Mutex
	current *node
}

// keep runs the process to its end.
func (p *pod) keep(t *testing.T) {
	const most = 20
	for range most {
		n := startNode(t, p.args...)
		p.mu.Lock()
		p.current = n
		p.mu.Unlock()
		if n.Wait() == nil {
			return
		}
	}
	t.Errorf("%q has failed %d times:\n%s", p.args, most, p.now().stderr.String())
}

func (p *pod) now() *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// The processes of the manifests of two ranks on two GPUs, on this machine: one is evicted and one is killed,
// all are started again as their Jobs do it, and the run ends with the bits of one without either.
func TestClusterOfManifestsSurvivesEvictionAndDeath(t *testing.T) {
	if testing.Short() {
		t.Skip("starts twenty processes")
	}
	t.Setenv("LD_LIBRARY_PATH", softgpu.Folder(t))
	t.Setenv("TANDEM_SOFTGPU_DEVICES", "2")
	folder := t.TempDir()
	file := filepath.Join(folder, "job.yaml")
	manifests := made(t, clusterJobs["gpu"].job, "kubernetes", "--checkpoint-every", "100 steps")
	inFile := regexp.MustCompile(`(?s)job\.yaml: \|\n(.*?)\n---`).FindStringSubmatch(manifests)
	job := strings.ReplaceAll(inFile[1], "\n    ", "\n")[4:]
	if err := os.WriteFile(file, []byte(job), 0o644); err != nil {
		t.Fatal(err)
	}
	certify(t, file, "gpu", filepath.Join(folder, "tls"))
	trained := func(saved string, disturb func(all map[string]*pod)) (dense, rows string) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		_ = listener.Close() // the port is free for the host
		all := map[string]*pod{}
		var ended sync.WaitGroup
		for name, args := range commands(t, manifests, "gpu", address, file, saved) {
			p := &pod{args: args}
			all[name] = p
			ended.Go(func() { p.keep(t) })
		}
		disturb(all)
		ended.Wait()
		var result summary
		if err := json.Unmarshal([]byte(all["host 0"].now().stdout.String()), &result); err != nil {
			t.Fatalf("%v\n%s", err, all["host 0"].now().stderr.String())
		}
		return result.DenseDigest, result.RowsDigest
	}
	dense, rows := trained(filepath.Join(folder, "whole"), func(map[string]*pod) {})
	saved := filepath.Join(folder, "saved")
	_, unbuilt := gpuhealth.Open("", nil)
	gotDense, gotRows := trained(saved, func(all map[string]*pod) {
		for _, c := range []struct {
			after, role string
			signal      syscall.Signal
		}{{"100", "embedding-ps 1", syscall.SIGTERM}, {"200", "nn-worker 1", syscall.SIGKILL}} {
			awaitModel(t, filepath.Join(saved, c.after))
			if !errors.Is(unbuilt, gpuhealth.ErrNotBuilt) {
				tellsItsGPU(t, all["nn-worker 1"].now())
			}
			if err := all[c.role].now().Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
		}
	})
	if gotDense != dense || gotRows != rows {
		t.Errorf("network %s, rows %s; without eviction and death %s, %s", gotDense, gotRows, dense, rows)
	}
}

// tellsItsGPU refuses a process whose output does not name its GPU, or whose metrics lack its state.
func tellsItsGPU(t *testing.T, n *node) {
	text := n.stderr.String()
	address := regexp.MustCompile(`metrics are at (\S+)`).FindStringSubmatch(text)
	if address == nil || !strings.Contains(text, "Tandem software GPU (GPU-736f6674-") {
		t.Errorf("a rank on a GPU says\n%s", text)
		return
	}
	response, err := http.Get(address[1])
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if !strings.Contains(string(got), "\ntandem_gpu_power_watts{gpu=\"736f6674-") || err != nil {
		t.Errorf("no power of a GPU in the metrics: %v\n%s", err, got)
	}
}

// Every eviction leaves all pods but one, and ranks have GPUs of their own on one machine.
func TestManifestsOfSharedProcesses(t *testing.T) {
	job := clusterJobs["placed"].job
	if text := made(t, job, "kubernetes"); !strings.Contains(text, "  minAvailable: 4\n") {
		t.Errorf("the budget of 5 pods is not 4:\n%s", text)
	}
	for placement, want := range map[string][]string{
		"workers": {`["0"]`, `["1"]`}, "together": {`["0", "1"]`},
	} {
		text := made(t, strings.Replace(job, "placement: workers", "placement: "+placement, 1), "compose")
		var got []string
		for _, found := range regexp.MustCompile(`device_ids: (\[.*?\])`).FindAllStringSubmatch(text, -1) {
			got = append(got, found[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: GPUs %s, want %s", placement, got, want)
		}
	}
}

// What a cluster could not start is refused.
func TestManifestsRefuse(t *testing.T) {
	numbered := filepath.Join(t.TempDir(), "numbered.yaml")
	text := strings.Replace(clusterJobs["gpu"].job, "device: cuda", `device: "cuda:1"`, 1)
	if err := os.WriteFile(numbered, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		`"kubernets" is unknown; the nearest is "kubernetes"`: {"--target", "kubernets"},
		`"pss" is unknown`:                      {"--resource", "pss=1,1GiB"},
		`"embedding-ps" is not ROLE=CORES,MEM`:  {"--resource", "embedding-ps"},
		`"host=rows" is not ROLE=LABEL:VALUE`:   {"--node-selector", "host=rows"},
		`"hots" is unknown; the nearest is "ho`: {"--node-selector", "hots=pool:rows"},
		`compose has no labels of machines`:     {"--target", "compose", "--node-selector", "host=pool:a"},
		`slurm has no secrets of Kubernetes`:    {"--target", "slurm", "--secret", "s3"},
		`compose has no classes of volumes`:     {"--target", "compose", "--storage-class", "fast"},
		`model.device = cuda:1: a process sees`: {"--file", numbered},
		`--checkpoint-every: `:                  {"--checkpoint-every", "often"},
	} {
		var stderr strings.Builder
		if code := run(append([]string{"manifests"}, args...), io.Discard, &stderr); code != 2 ||
			!strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit status %d, %s; want 2, %s", args, code, stderr.String(), want)
		}
	}
}

// Manifests of a job with a module say that the images have no Python.
func TestManifestsOfModulesSayWhatTheImageLacks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.yaml")
	text := "data: {kind: csv, path: a.csv, csv: {slots: [{column: a}], label: b}}\n" +
		"model: {kind: torch, file: net.py, class: Net, source: 'class Net: pass', embedding-dim: 4}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	code := run([]string{"manifests", "--file", file}, io.Discard, &stderr)
	if code != 0 || !strings.Contains(stderr.String(), "have no Python") {
		t.Errorf("exit status %d, %s", code, stderr.String())
	}
}

// The job files and commands of docs/deploy.md make manifests, and these fit the schemas of Kubernetes.
func TestCommandsOfThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "deploy.md"))
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]string{}
	block := regexp.MustCompile("(?s)`(\\S+\\.yaml)`:\n\n *```yaml\n(.*?)\n *```")
	for _, found := range block.FindAllStringSubmatch(string(page), -1) {
		margin := regexp.MustCompile("(?m)^" + regexp.MustCompile("^ *").FindString(found[2]))
		jobs[found[1]] = margin.ReplaceAllString(found[2], "")
	}
	folder, made := t.TempDir(), 0
	var files []string
	commands := strings.ReplaceAll(string(page), "\\\n", " ")
	for _, found := range regexp.MustCompile(`node manifests --file (\S+) ([^|\n]*)\| kubectl`).
		FindAllStringSubmatch(commands, -1) {
		job, ok := jobs[found[1]]
		if !ok {
			continue // the reader's own
		}
		file := filepath.Join(folder, found[1])
		if err := os.WriteFile(file, []byte(job), 0o644); err != nil {
			t.Fatal(err)
		}
		var out, stderr strings.Builder
		args := append([]string{"manifests", "--file", file}, strings.Fields(found[2])...)
		if code := run(args, &out, &stderr); code != 0 {
			t.Fatalf("%q: exit status %d: %s", args, code, stderr.String())
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		files, made = append(files, file), made+1
	}
	if made != len(jobs) || made == 0 {
		t.Errorf("%d job files, %d commands with them", len(jobs), made)
	}
	fitSchemas(t, files...)
}

// fitSchemas refuses files that the schemas of Kubernetes do not allow, if Python has these.
func fitSchemas(t *testing.T, files ...string) {
	t.Helper()
	python := pythontest.With(t, "kubernetes_validate")
	python.Run(t, nil, append([]string{"-m", "kubernetes_validate", "--strict", "--quiet"}, files...)...)
}

// The manifests fit the schemas of Kubernetes, by a check of others.
func TestManifestsFitTheSchemasOfKubernetes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "manifests", "*-kubernetes.yaml"))
	if err != nil || len(files) != len(clusterJobs) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	fitSchemas(t, files...)
}
