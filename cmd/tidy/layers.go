package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A ban keeps the packages below some folders from depending, directly or not,
// on others.
type ban struct {
	from []string // folders of this repository
	to   []string // import paths
	why  string
	but  string // the folder that may, if there is one
}

// ours returns the import paths of folders of this repository.
func ours(folders ...string) []string {
	for i := range folders {
		folders[i] = module + "/" + folders[i]
	}
	return folders
}

// bans are the layers.
func bans() []ban {
	return []ban{
		{from: []string{"algo"}, to: ours("sim", "runtime", "datasets", "cmd", "experiments"),
			why: "algo is the core that both drivers run; it knows none of them"},
		{from: []string{"sim"}, to: ours("runtime", "datasets", "cmd", "experiments"),
			why: "the simulator stands for the runtime and must not lean on it; batches come " +
				"through batch.Source"},
		{from: []string{"runtime"}, to: ours("sim", "datasets", "cmd", "experiments"),
			why: "the runtime must not lean on its own model; batches come through batch.Source"},
		{from: []string{"datasets"}, to: ours("sim", "runtime", "cmd", "experiments"),
			why: "readers and generators serve both drivers and import algo alone"},
		{from: []string{"internal", "experiments", "cmd"}, to: ours("cmd"),
			why: "cmd holds programs; what others use of them goes to internal"},
		{from: []string{"cmd/sim", "cmd/train"}, to: []string{
			"go.etcd.io", "github.com/cockroachdb/pebble", "github.com/apache/arrow",
			"github.com/apache/arrow-go",
			"gocloud.dev", "cloud.google.com", "github.com/aws", "github.com/Azure",
			"github.com/prometheus", "go.opentelemetry.io",
		}, why: "a cold build stays under a minute on two cores: link it in cmd/node"},
		{from: []string{"algo", "sim", "datasets", "runtime", "cmd"}, to: []string{"gorgonia.org"},
			but: "runtime/gorgonia",
			why: "it doubles the time of a cold build: only experiments and users' programs link it"},
	}
}

// A wall says which folders beside a folder, in algo or in runtime, its packages may depend
// on, directly or not.
type wall struct {
	folder string
	may    []string
	why    string
}

// walls keep the parts of algo apart, and give runtime its order: every package of runtime has a wall.
func walls() []wall {
	const order = "runtime has an order: no package knows the one that orchestrates it; walls of " +
		"cmd/tidy/layers.go has the order"
	ground := []string{"algo/unit", "algo/rng", "algo/histogram"}
	return []wall{
		{"algo/protocol", ground,
			"the protocol decides without tensors, so that it can be searched; algo/exec does the " +
				"arithmetic"},
		{"algo/numeric", ground,
			"arithmetic knows no roles and no messages; algo/exec brings the two together"},
		{"runtime/driver", nil, order},
		{"runtime/numerics", nil, order},
		{"runtime/memory", nil, order},
		{"runtime/checkpoint", nil, order},
		{"runtime/probe", nil, order},
		{"runtime/blas", nil, order},
		{"runtime/cuda", nil, order},
		{"runtime/gorgonia", nil, order},
		{"runtime/torch", nil, order},
		{"runtime/onnx", nil, order},
		{"runtime/wire", nil, order},
		{"runtime/grpcnet", nil, order},
		{"runtime/identity", nil, order},
		{"runtime/ring", nil, order},
		{"runtime/allreduce", []string{"runtime/wire"}, order},
		{"runtime/redo", []string{"runtime/wire"}, order},
		{"runtime/transport", []string{"runtime/wire", "runtime/grpcnet", "runtime/ring",
			"runtime/identity"}, order},
		{"runtime/record", []string{"runtime/driver"}, order},
		{"runtime/export", []string{"runtime/checkpoint"}, order},
		{"runtime/inference", []string{"runtime/checkpoint", "runtime/onnx"}, order},
		{"runtime/retrieval", []string{"runtime/checkpoint", "runtime/onnx", "runtime/inference"}, order},
		{"runtime/watch", nil, order},
		{"runtime/metrics", []string{"runtime/watch"}, order},
		{"runtime/gpuhealth", []string{"runtime/watch", "runtime/metrics"}, order},
		{"runtime/train", []string{"runtime/driver"}, order},
		{"runtime/member", []string{"runtime/driver", "runtime/grpcnet", "runtime/identity"}, order},
		{"runtime/process", []string{"runtime/driver", "runtime/wire", "runtime/grpcnet", "runtime/ring",
			"runtime/allreduce", "runtime/transport", "runtime/member", "runtime/checkpoint",
			"runtime/redo", "runtime/identity"}, order},
	}
}

// checkWalls returns a dependency of a folder that a wall forbids, and why, or "".
func checkWalls(folder string, p *pkg) (dep, why string) {
	for _, w := range walls() {
		if !within(folder, w.folder) {
			continue
		}
		root, _, _ := strings.Cut(w.folder, "/")
		for _, dep := range p.Deps {
			other, ok := local(dep)
			if ok && within(other, root) && !within(other, w.folder) &&
				!slices.ContainsFunc(w.may, func(may string) bool { return within(other, may) }) {
				return dep, w.why
			}
		}
		return "", ""
	}
	protocol, numeric := reaches(p, "algo/protocol"), reaches(p, "algo/numeric")
	if within(folder, "algo") && protocol != "" && numeric != "" && !within(folder, "algo/exec") &&
		!within(folder, "algo/job") {
		return numeric, "protocol and numeric meet in algo/exec, which runs jobs, and algo/job, " +
			"which checks them"
	}
	return "", ""
}

// An allowance lets a part of algo import a package from outside the standard
// library.
type allowance struct{ folder, importPath, why string }

// allowances are all that algo uses.
func allowances() []allowance {
	return []allowance{
		{"algo", "gonum.org/v1/gonum/blas", "portable matrix products, pure Go"},
		{"algo/metric", "gonum.org/v1/gonum/mathext", "Student's t; distuv links LAPACK as well"},
		{"algo/numeric/isa", "golang.org/x/sys/cpu", "what the processor can do"},
		{"algo/numeric/kernel/internal/kerneltest", "pgregory.net/rapid", "only tests import it"},
		{"algo/job", "go.yaml.in/yaml/v3", "the job file is YAML"},
	}
}

// checkLayers finds dependencies that cross the layers the wrong way.
func checkLayers(packages []pkg, files []*file) []Violation {
	byPath := make(map[string]*pkg, len(packages))
	for i := range packages {
		byPath[packages[i].ImportPath] = &packages[i]
	}
	var found []Violation
	for i := range packages {
		p := &packages[i]
		folder, ok := local(p.ImportPath)
		if !ok {
			continue
		}
		report := func(direct, problem string) {
			name, line := importPlace(files, folder, direct)
			found = append(found, Violation{name, line, "layer", problem})
		}
		for _, b := range bans() {
			if dep := firstBanned(b, folder, p.Deps); dep != "" {
				direct := through(p, dep, byPath)
				report(direct, fmt.Sprintf("%s depends on %s through %s: %s", folder, dep, direct, b.why))
			}
		}
		if dep, why := checkWalls(folder, p); dep != "" {
			direct := through(p, dep, byPath)
			report(direct, fmt.Sprintf("%s depends on %s through %s: %s", folder, dep, direct, why))
		}
		if within(folder, "cmd") && p.Name != "main" {
			report("", fmt.Sprintf("package %s is not a program: move it to internal", p.Name))
		}
		for _, dep := range p.Imports {
			if within(folder, "algo") && !allowed(folder, dep, byPath[dep]) {
				report(dep, fmt.Sprintf("%s is not on the short list of algo: use the standard library, or "+
					"state the reason in allowances", dep))
			}
		}
		if sim, runtime := reaches(p, "sim"), reaches(p, "runtime"); sim != "" && runtime != "" &&
			!meetingPlace(folder) {
			report(through(p, runtime, byPath),
				fmt.Sprintf("%s depends on %s and %s: simulator and runtime meet only in cmd/sim, "+
					"cmd/train, cmd/node and experiments", folder, sim, runtime))
		}
	}
	return found
}

// firstBanned returns the first dependency that b forbids to a folder.
func firstBanned(b ban, folder string, deps []string) string {
	if b.but != "" && within(folder, b.but) {
		return ""
	}
	if !slices.ContainsFunc(b.from, func(from string) bool { return within(folder, from) }) {
		return ""
	}
	for _, dep := range deps {
		if slices.ContainsFunc(b.to, func(to string) bool { return within(dep, to) }) {
			return dep
		}
	}
	return ""
}

// through returns the direct import by which p comes to depend on dep.
func through(p *pkg, dep string, byPath map[string]*pkg) string {
	for _, direct := range p.Imports {
		if direct == dep || byPath[direct] != nil && slices.Contains(byPath[direct].Deps, dep) {
			return direct
		}
	}
	return dep
}

// allowed reports whether a folder of algo may import dep directly.
func allowed(folder, dep string, listed *pkg) bool {
	if _, ok := local(dep); ok || listed == nil || listed.Standard || dep == "C" {
		return true
	}
	return slices.ContainsFunc(allowances(), func(a allowance) bool {
		return within(folder, a.folder) && within(dep, a.importPath)
	})
}

// reaches returns the first dependency of p below a folder of ours, or "".
func reaches(p *pkg, folder string) string {
	for _, dep := range p.Deps {
		if name, ok := local(dep); ok && within(name, folder) {
			return dep
		}
	}
	return ""
}

// meetingPlace reports whether a folder may depend on simulator and runtime both.
func meetingPlace(folder string) bool {
	return within(folder, "cmd/sim") || within(folder, "cmd/train") || within(folder, "cmd/node") ||
		within(folder, "experiments")
}

// importPlace finds the file and line of a folder that imports a package.
func importPlace(files []*file, folder, importPath string) (name string, line int) {
	for _, f := range files {
		if f.syntax == nil || f.test() || f.directory() != folder {
			continue
		}
		for _, spec := range f.syntax.Imports {
			if unquoted, _ := strconv.Unquote(spec.Path.Value); unquoted == importPath {
				return f.path, f.line(spec.Pos())
			}
		}
	}
	return strings.TrimSuffix(folder, "/"), 1
}
