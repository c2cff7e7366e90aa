package cuda

import (
	"fmt"
	"path/filepath"
	"strings"
)

// An entry is a function of a library.
type entry struct {
	name    string
	address uintptr
}

// A wanted is an entry to find in a library.
type wanted struct {
	entry *entry
	name  string
	// optional entries may be absent. Their addresses are 0 then.
	optional bool
}

// load opens the first of the files that exists and finds the entries in it. What is what the library is
// for.
func load(what string, files []string, entries []wanted) error {
	var handle uintptr
	var failed []string
	for _, file := range files {
		h, err := openFile(file)
		if err == nil {
			handle = h
			break
		}
		if text := err.Error(); !strings.Contains(text, file) {
			failed = append(failed, file+": "+text)
		} else {
			failed = append(failed, text)
		}
	}
	if handle == 0 {
		return fmt.Errorf("cannot open the library of %s: %s", what, strings.Join(failed, "; "))
	}
	var missing []string
	found := ""
	for _, w := range entries {
		*w.entry = entry{w.name, find(handle, w.name)}
		switch {
		case w.entry.address != 0 && found == "":
			found = fileOf(w.entry.address)
		case w.entry.address == 0 && !w.optional:
			missing = append(missing, w.name)
		}
	}
	if len(missing) > 0 {
		if found == "" {
			found = strings.Join(files, ", ")
		}
		return fmt.Errorf("the library of %s (%s) is too old or another one: it lacks %s", what, found,
			strings.Join(missing, ", "))
	}
	return nil
}

// candidates returns the files to try for a library: the one that the user named, or the usual names
// without those of a newer major version than the driver supports, as the loader finds them or in CUDA's
// usual folder.
func candidates(named string, major int, usual ...string) []string {
	if named != "" {
		return []string{named}
	}
	var all []string
	for _, name := range usual {
		_, version, _ := strings.Cut(name, ".so.")
		var of int
		if n, err := fmt.Sscanf(version, "%d", &of); err == nil && n == 1 && of > major {
			continue
		}
		all = append(all, name, filepath.Join("/usr/local/cuda/lib64", name))
	}
	return all
}

// codeOf returns the status that a C function of type int returned.
func codeOf(result uintptr) int { return int(int32(result)) }
