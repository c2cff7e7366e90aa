package cli

import (
	"runtime"
	"runtime/debug"
)

// Environment describes the machine and the build of a run.
type Environment struct {
	GoVersion string `json:"go"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPUs      int    `json:"cpus"`   // GOMAXPROCS
	Commit    string `json:"commit"` // "unknown" if the build has no version control information
}

// CurrentEnvironment describes this process.
func CurrentEnvironment() Environment {
	e := Environment{
		GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		Commit: "unknown",
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
