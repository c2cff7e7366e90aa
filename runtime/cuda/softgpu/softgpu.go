package softgpu

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tandem/runtime/cuda"
)

//go:embed source
var source embed.FS

// The library has the names of all libraries that it stands for.
var names = []string{"libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12", "libnccl.so.2",
	"libnvidia-ml.so.1"}

// hardwareVariable is set to 1 to run tests on the GPUs of this machine. Those that need what only the
// software has, such as faults that can be planted, are skipped then.
const hardwareVariable = "TANDEM_TEST_GPU"

// onHardware is asked in every test: go test keeps results by the variables that tests ask for.
func onHardware() bool { return os.Getenv(hardwareVariable) == "1" }

// Only skips the test on hardware.
func Only(t testing.TB) {
	t.Helper()
	if onHardware() {
		t.Skip("needs the software GPU: " + hardwareVariable + " is set")
	}
}

// Hardware skips the test unless it runs on hardware.
func Hardware(t testing.TB) {
	t.Helper()
	if !onHardware() {
		t.Skipf("needs a GPU of NVIDIA: %s=1", hardwareVariable)
	}
}

const compiler = "c++"

// flags leave contractions to fused multiply-adds out, so that sums have the same bits on every processor.
var flags = []string{"-std=c++17", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror",
	"-fPIC", "-shared",
	"-fvisibility=hidden", "-ffp-contract=off", "-fno-strict-aliasing"}

// Folder returns the folder of the library, under the names of NVIDIA's libraries, for LD_LIBRARY_PATH. It
// skips the test on hardware, without a C++ compiler, or in a program that cannot open libraries.
func Folder(t testing.TB) string {
	t.Helper()
	Only(t)
	if !supported {
		t.Skip("needs a program that can open libraries")
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip("needs a C++ compiler: " + compiler)
	}
	folder, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

var built = sync.OnceValues(build)

// build compiles the library, unless the folder of this source and compiler has it.
func build() (string, error) {
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", compiler, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %q\n", version, flags)
	err = fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := source.ReadFile(name)
		fmt.Fprintf(h, "%s %d\n%s", name, len(data), data)
		return err
	})
	if err != nil {
		return "", err
	}
	key := hex.EncodeToString(h.Sum(nil)[:16])
	parent, err := os.UserCacheDir()
	if err == nil {
		parent = filepath.Join(parent, "tandem", "softgpu")
		err = os.MkdirAll(parent, 0o700)
	}
	if err != nil {
		parent = os.TempDir()
	}
	folder := filepath.Join(parent, key)
	// Tests of several packages begin at the same time: one compiles, the others wait.
	unlock, err := lock(folder + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	return folder, compile(parent, folder, key)
}

// compile makes the folder under another name first, so that it is there with all its files or not at all.
func compile(parent, folder, key string) error {
	work, err := os.MkdirTemp(parent, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, source); err != nil {
		return err
	}
	const library = "libsoftgpu.so"
	arguments := append(flags[:len(flags):len(flags)], fmt.Sprintf("-DSOFTGPU_COMPILER=%q", compiler),
		fmt.Sprintf("-DSOFTGPU_SOURCES=%q", key), "-o", library, "source/all.cpp", "-ldl", "-lpthread")
	command := exec.Command(compiler, arguments...)
	command.Dir = work
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	if err := os.RemoveAll(filepath.Join(work, "source")); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Symlink(library, filepath.Join(work, name)); err != nil {
			return err
		}
	}
	return os.Rename(work, folder)
}

// Libraries returns the libraries for cuda.Open.
func Libraries(t testing.TB) cuda.Libraries {
	t.Helper()
	if onHardware() {
		return cuda.Libraries{}
	}
	folder := Folder(t)
	return cuda.Libraries{
		Driver:      filepath.Join(folder, names[0]),
		Compiler:    filepath.Join(folder, names[1]),
		BLAS:        filepath.Join(folder, names[2]),
		Collectives: filepath.Join(folder, names[3]),
	}
}

// Open opens the software GPU with a number of devices, or on hardware the GPUs of the machine; it skips the
// test if they are fewer.
func Open(t testing.TB, devices int) *cuda.Driver {
	t.Helper()
	libraries := Libraries(t)
	if !onHardware() {
		Set(t, "TANDEM_SOFTGPU_DEVICES", strconv.Itoa(devices))
	}
	driver, err := cuda.Open(libraries)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := driver.Devices(); err != nil {
		t.Fatal(err)
	} else if len(all) < devices {
		t.Skipf("needs %d GPUs; this machine has %d", devices, len(all))
	}
	return driver
}

// Devices returns the number of devices that a test can have, of those that it wants.
func Devices(t testing.TB, wanted int) int {
	t.Helper()
	if !onHardware() {
		return wanted
	}
	all, err := Open(t, 1).Devices()
	if err != nil {
		t.Fatal(err)
	}
	return min(wanted, len(all))
}

// Environment returns the environment of a child process that finds the software GPU, with a number of
// devices, as others find NVIDIA's libraries.
func Environment(t testing.TB, devices int) []string {
	t.Helper()
	const path = "LD_LIBRARY_PATH"
	folder := Folder(t)
	if before := os.Getenv(path); before != "" {
		folder = strings.Join([]string{folder, before}, string(os.PathListSeparator))
	}
	return append(os.Environ(), path+"="+folder, "TANDEM_SOFTGPU_DEVICES="+strconv.Itoa(devices))
}
