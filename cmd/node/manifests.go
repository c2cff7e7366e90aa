package main

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/runtime/identity"
	"tandem/runtime/train"
)

//go:embed templates
var templates embed.FS

// targets are what manifests can be made for, with the names of their files.
var targets = map[string]string{
	"kubernetes": "kubernetes.yaml", "compose": "compose.yaml", "slurm": "slurm.sh",
}

const manifestsUsage = `Print what starts the processes of a job on a cluster: manifests of Kubernetes, a
file for Docker Compose on one machine, or a batch script for Slurm.

The job file is part of the result. Every process has probes, metrics, memory,
a grace period and a certificate. The model is saved every --checkpoint-every,
and when a process is evicted or asked to end; the same processes go on with it.

To change the number of roles: end the run, which saves the model; change the
job file; make and start the manifests again. docs/deploy.md follows a run from
an empty project to its end.`

const manifestsExamples = `  node manifests --file job.yaml --target kubernetes | kubectl apply -f -
  node manifests --file job.yaml --target compose > compose.yaml
  node manifests --file job.yaml --target slurm --out cluster
  node manifests --file job.yaml --target kubernetes --image registry/tandem:1 \
      --data clicks --resource embedding-ps=8,200GiB`

// deployment is the data of the templates.
type deployment struct {
	Name, Image, Job      string
	Data, Secret          string // "" if the job reads no files, or needs no credentials
	StorageClass          string
	CheckpointSize, Every string
	HostPort, RolePort    int
	MetricsPort           int
	TLS                   bool
	Groups                []group // the host first
	resources, selectors  []string
}

// group is a number of processes with the same command but for an index.
type group struct {
	Name    string
	Count   int
	command []string // behind the program
	CPU     int
	memory  unit.Bytes
	GPUs    int  // of a process
	gpu     int  // number of the first, where all processes are on one machine
	Reads   bool // the data
	// Certificate is the name of the folder with its certificate, which node cert makes.
	Certificate string

	// LabelKey and LabelValue are of the machines on which the processes may run; "" if on any.
	LabelKey, LabelValue string
}

// Host reports whether the group is the host.
func (g group) Host() bool { return g.Name == "host" }

// Arguments returns the command of the process with an index.
func (g group) Arguments(index string) []string {
	if g.Count == 1 {
		index = "0"
	}
	all := append([]string(nil), g.command...)
	if len(all) == 1 && !g.Host() {
		all = append(all, "--index", index)
	}
	return all
}

// Mebibytes returns the memory of a process in MiB.
func (g group) Mebibytes() int { return int(math.Ceil(float64(g.memory) / (1 << 20))) }

// Devices returns the quoted numbers of the GPUs of the process with an index, on one machine.
func (g group) Devices(index int) string {
	var all []string
	for i := range g.GPUs {
		all = append(all, strconv.Quote(strconv.Itoa(g.gpu+index*g.GPUs+i)))
	}
	return strings.Join(all, ", ")
}

// MemoryPerCPU returns the memory of a process for each of its cores, in MiB.
func (g group) MemoryPerCPU() int { return (g.Mebibytes() + g.CPU - 1) / g.CPU }

// Evictable returns how many processes there are but for one.
func (m deployment) Evictable() int {
	n := -1
	for _, g := range m.Groups {
		n += g.Count
	}
	return n
}

// Certificates returns the names of the certificates of all processes.
func (m deployment) Certificates() (all []string) {
	for _, g := range m.Groups {
		if !slices.Contains(all, g.Certificate) {
			all = append(all, g.Certificate)
		}
	}
	return all
}

func (p *program) manifestsCommand() *cobra.Command {
	var f flags
	var target, out string
	m := deployment{HostPort: 7300, RolePort: 7301, MetricsPort: 9090}
	c := &cobra.Command{
		Use: "manifests", Short: "Print what starts a job's processes on Kubernetes, Compose or Slurm",
		Long: manifestsUsage, Example: manifestsExamples, Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			j, _, err := f.load()
			if err != nil {
				return err
			}
			if j.Model.Kind == model.Torch {
				cli.PrintNotes(p.stderr, "node", []string{"the job has a module of PyTorch, and the images " +
					"of cmd/node/Dockerfile have no Python: make one that has torch, and set " +
					"TANDEM_PYTHON in it"})
			}
			text, err := m.write(j, target)
			if err != nil || out == "" {
				_, printed := p.stdout.Write(text)
				return cmp.Or(err, printed)
			}
			folder, err := cli.NewFolder(out)
			if err != nil {
				return err
			}
			if err = os.WriteFile(filepath.Join(folder.Path(), targets[target]), text, 0o644); err == nil {
				_, err = folder.Finish()
			}
			folder.Discard()
			return err
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVarP(&f.file, "file", "f", "", "read the job from this YAML `FILE` (default: the census "+
		"income job)")
	fs.StringVar(&target, "target", "kubernetes", "make them for this `TARGET`: kubernetes, compose or slurm")
	fs.StringVar(&out, "out", "", "write a file to this new or empty `FOLDER` (default: print it)")
	fs.StringVar(&m.Image, "image", "tandem:latest", "run this container `IMAGE`, which "+
		"cmd/node/Dockerfile makes")
	fs.StringVar(&m.Data, "data", "", "mount what the job's relative paths start at: a persistent volume "+
		"`CLAIM`, or for compose and slurm a folder (default: the job reads no files)")
	fs.StringVar(&m.Secret, "secret", "", "give the processes that read data the variables of this "+
		"`SECRET`, such as credentials of S3 (kubernetes)")
	fs.StringVar(&m.StorageClass, "storage-class", "", "keep checkpoints on this `CLASS` of volumes, "+
		"which many pods can write (kubernetes; default: that of the cluster)")
	fs.StringVar(&m.CheckpointSize, "checkpoint-size", "100Gi", "ask for a volume of this `SIZE` for "+
		"checkpoints, of which three are kept (kubernetes)")
	fs.BoolVar(&m.TLS, "tls", true, "let processes know each other by certificates: Slurm and Compose make "+
		"them, and for Kubernetes the file begins with the commands that do")
	fs.StringVar(&m.Every, "checkpoint-every", "10m", "save the model at this `INTERVAL`, as "+
		"\"500 steps\" or 10m, or auto, or never")
	fs.StringArrayVar(&m.resources, "resource", nil, "give a role this many cores and this memory, as "+
		"`ROLE=CORES,MEMORY`; may be repeated (default: 2 cores and 4 GiB; a rank 4 and 8 GiB; an "+
		"embedding PS 4, and the job's rows.memory and a quarter, or 16 GiB)")
	fs.StringArrayVar(&m.selectors, "node-selector", nil, "run a role only on machines with this label, "+
		"as `ROLE=LABEL:VALUE`; may be repeated (kubernetes; default: on any)")
	return c
}

// nameOfRun matches the names that Kubernetes, Compose and Slurm all take.
var nameOfRun = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$`)

// write returns the file of a target.
func (m deployment) write(j job.Job, target string) ([]byte, error) {
	file, ok := targets[target]
	if !ok {
		return nil, cli.UsageError("see --help", "--target: %s",
			job.Unknown(target, []string{"kubernetes", "compose", "slurm"}))
	}
	if j.Training.Mode == job.Sequential {
		return nil, &cli.Error{Err: fmt.Errorf("job %s: sequential training has no roles", j.Name),
			Hint: "use cmd/train, or another mode"}
	}
	if j.Model.Device.Ordinals != nil {
		return nil, cli.UsageError("write device: cuda", "model.device = %v: a process sees only the GPUs "+
			"that it is given, and numbers them from 0", j.Model.Device)
	}
	if m.Name = strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(j.Name)); m.Name == "" {
		m.Name = "tandem"
	}
	if !nameOfRun.MatchString(m.Name) {
		return nil, cli.UsageError("change the job's name", "name %q: want a letter, then letters, "+
			"digits and dashes, at most 40", j.Name)
	}
	if err := m.onlyKubernetes(target); err != nil {
		return nil, err
	}
	var every train.Saving
	if err := every.UnmarshalText([]byte(m.Every)); err != nil {
		return nil, cli.UsageError("see --help", "--checkpoint-every: %v", err)
	}
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		return nil, err
	}
	m.Job = strings.TrimRight(string(text), "\n")
	if m.Groups, err = groupsOf(j); err != nil {
		return nil, err
	}
	if err := m.setResources(); err != nil {
		return nil, err
	}
	if err := m.setSelectors(target); err != nil {
		return nil, err
	}
	t, err := template.New(file+".tmpl").Funcs(template.FuncMap{
		"quote": strconv.Quote,
		// Compose replaces variables everywhere in its file.
		"dollars": func(s string) string { return strings.ReplaceAll(s, "$", "$$") },
		"indent": func(n int, s string) string {
			margin := strings.Repeat(" ", n)
			return margin + strings.ReplaceAll(s, "\n", "\n"+margin)
		},
		"count": func(n int) []int { return make([]int, n) },
	}).ParseFS(templates, "templates/"+file+".tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, m)
	return b.Bytes(), err
}

// groupsOf returns the host and the processes of a job: those of one role together, and each that several
// roles share by itself.
func groupsOf(j job.Job) ([]group, error) {
	// The processes of a job do not depend on the layout of its network.
	layout := &model.Layout{Params: 1 << 20, Buckets: []model.Bucket{{Hi: 1 << 20}}}
	cfg, err := j.RoleConfig(layout, 0, 1)
	if err != nil {
		return nil, err
	}
	processes, err := j.Roles.Placement.Processes(cfg)
	if err != nil {
		return nil, fmt.Errorf("placement: %w", err)
	}
	host := group{Name: "host", Count: 1, command: []string{"host"}, CPU: 2, memory: 4 << 30, Reads: true,
		Certificate: identity.FolderOf(nil)}
	groups, gpus := []group{host}, 0
	for _, roles := range processes {
		g := group{Count: 1, command: []string{"process"}, gpu: gpus, Certificate: identity.FolderOf(roles)}
		for _, at := range roles {
			g.command = append(g.command, at.Role.String(), strconv.Itoa(int(at.Index)))
			needs(&g, at.Role, &j)
		}
		gpus += g.GPUs
		last := &groups[len(groups)-1]
		switch name := roles[0].Role.String(); {
		case len(roles) == 1 && last.Name == name:
			last.Count++
			continue
		case len(roles) == 1:
			g.Name, g.command = name, []string{name}
		default:
			g.Name = fmt.Sprintf("process-%d", len(groups)-1)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// needs adds what a role needs to a group.
func needs(g *group, r msg.Role, j *job.Job) {
	cpu, memory := 2, unit.Bytes(4<<30)
	switch r {
	case msg.DataLoader:
		g.Reads = true
	case msg.EmbeddingPS:
		cpu, memory = 4, 16<<30
		if _, rows := j.PSLimits(); rows > 0 {
			memory = rows + rows/4
		}
	case msg.NNWorker:
		cpu, memory = 4, 8<<30
		if j.Model.Device.CUDA {
			g.GPUs++
		}
	}
	g.CPU, g.memory = g.CPU+cpu, g.memory+memory
}

// setResources applies --resource.
func (m *deployment) setResources() error {
	for _, text := range m.resources {
		name, amounts, ok := strings.Cut(text, "=")
		cores, memory, both := strings.Cut(amounts, ",")
		cpu, err := strconv.Atoi(cores)
		var bytes unit.Bytes
		if err == nil {
			err = bytes.UnmarshalText([]byte(memory))
		}
		if !ok || !both || err != nil || cpu < 1 || bytes < 1<<20 {
			return cli.UsageError("write it as embedding-ps=8,200GiB", "--resource: %q is not ROLE=CORES,"+
				"MEMORY", text)
		}
		g, err := m.group(name, "--resource")
		if err != nil {
			return err
		}
		g.CPU, g.memory = cpu, bytes
	}
	return nil
}

// onlyKubernetes refuses flags that would change nothing for another target.
func (m *deployment) onlyKubernetes(target string) error {
	switch {
	case target == "kubernetes":
		return nil
	case m.Secret != "":
		return cli.UsageError("leave it out, and give the processes these variables yourself",
			"--secret: %s has no secrets of Kubernetes", target)
	case m.StorageClass != "":
		return cli.UsageError("leave it out", "--storage-class: %s has no classes of volumes", target)
	}
	return nil
}

// setSelectors applies --node-selector.
func (m *deployment) setSelectors(target string) error {
	for _, text := range m.selectors {
		name, label, ok := strings.Cut(text, "=")
		key, value, both := strings.Cut(label, ":")
		switch {
		case target != "kubernetes":
			return cli.UsageError("leave it out", "--node-selector: %s has no labels of machines", target)
		case !ok || !both || key == "" || value == "":
			return cli.UsageError("write it as embedding-ps=cloud.google.com/gke-nodepool:rows",
				"--node-selector: %q is not ROLE=LABEL:VALUE", text)
		}
		g, err := m.group(name, "--node-selector")
		if err != nil {
			return err
		}
		g.LabelKey, g.LabelValue = key, value
	}
	return nil
}

// group returns the group with the name that a flag gives.
func (m *deployment) group(name, flag string) (*group, error) {
	var names []string
	for i := range m.Groups {
		if m.Groups[i].Name == name {
			return &m.Groups[i], nil
		}
		names = append(names, m.Groups[i].Name)
	}
	return nil, cli.UsageError("see --help", "%s: %s", flag, job.Unknown(name, names))
}
