package main

import (
	"debug/elf"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"tandem/internal/cli/clitest"
)

// The programs of the image need nothing but what their stages have, and the static one starts as a user
// without rights, in a root folder with nothing else, which it cannot write.
func TestProgramsOfTheImage(t *testing.T) {
	if !*long {
		t.Skip("builds the program twice: -long")
	}
	recipe, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile(`AS (\S+)-build\nRUN (CGO_ENABLED=.*) -o /node \./cmd/node\n`).
		FindAllStringSubmatch(string(recipe), -1)
	// A base image has the C library; NVIDIA's libraries are found while the program runs.
	allowed := map[string][]string{
		"static":  nil,
		"dynamic": {"libc.so.6", "libdl.so.2", "libpthread.so.0", "libresolv.so.2"},
	}
	if len(steps) != len(allowed) {
		t.Fatalf("%d steps build the program, want %d", len(steps), len(allowed))
	}
	for _, step := range steps {
		program := filepath.Join(t.TempDir(), "node")
		build := exec.Command("sh", "-ec", step[2]+" -o "+program+" ./cmd/node")
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step[2], err, out)
		}
		file, err := elf.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		needed, err := file.ImportedLibraries()
		_ = file.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, library := range needed {
			if !slices.Contains(allowed[step[1]], library) {
				t.Errorf("%s: the program needs %s", step[1], library)
			}
		}
		if step[1] == "static" {
			startsWithoutRights(t, program)
		}
	}
}

// startsWithoutRights starts a host with nothing but the program.
func startsWithoutRights(t *testing.T, program string) {
	if os.Getuid() != 0 {
		t.Log("only root can change its root folder")
		return
	}
	root := filepath.Dir(program)
	if err := os.Chmod(root, 0o555); err != nil {
		t.Fatal(err)
	}
	var stderr clitest.Buffer
	host := exec.Command("/node", "host", "--listen", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0")
	host.Dir, host.Stderr, host.Env = "/", &stderr, []string{"HOME=/"}
	host.SysProcAttr = &syscall.SysProcAttr{Chroot: root,
		Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Process.Kill() }()
	address := regexp.MustCompile(`metrics are at http://([^/]+)/`)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if found := address.FindStringSubmatch(stderr.String()); found != nil {
			response, err := http.Get("http://" + found[1] + "/healthz")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
				t.Errorf("/healthz: %s: %s", response.Status, text)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the host has not started:\n%s", stderr.String())
}
