package cli

import (
	"runtime"
	"runtime/debug"
)

// Environment is where an experiment ran.
type Environment struct {
	GoVersion string `json:"go"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPUs      int    `json:"cpus"`   // that the process may use
	Commit    string `json:"commit"` // "unknown" if the program was built without it
}

// CurrentEnvironment describes this process.
func CurrentEnvironment() Environment {
	e := Environment{
		GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0), Commit: "unknown",
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return e
	}
	changed := ""
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			e.Commit = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				changed = ", with uncommitted changes"
			}
		}
	}
	e.Commit += changed
	return e
}
