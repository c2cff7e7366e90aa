package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// origin is what environment.json says of a run.
type origin struct {
	cli.Environment
	Arguments []string `json:"arguments"`             // of the command line
	Folder    string   `json:"folder"`                // in which it was called
	Data      string   `json:"tandem_data,omitempty"` // TANDEM_DATA, absolute
}

// written returns a job as results and recordings keep it: with all settings, and with paths that lead to the
// same files from any folder or, where TANDEM_DATA finds the data, from that folder.
func (p *program) written(j job.Job, f flags) ([]byte, error) {
	located, err := j.Located(f.file, p.dataDir)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(located.Resolved())
}

// writeJob writes the job file of the results, which trains the same again, and environment.json. It returns
// the text of the job file.
func (p *program) writeJob(folder string, j job.Job, f flags) (text []byte, err error) {
	if text, err = p.written(j, f); err != nil {
		return nil, err
	}
	comment, err := p.jobComment(j, f)
	if err != nil {
		return nil, err
	}
	text = append([]byte(comment), text...)
	if err := os.WriteFile(filepath.Join(folder, "job.yaml"), text, 0o644); err != nil {
		return nil, err
	}
	return text, p.writeEnvironment(folder)
}

// writeEnvironment writes environment.json.
func (p *program) writeEnvironment(folder string) (err error) {
	from := origin{Environment: cli.CurrentEnvironment(), Arguments: p.args}
	if from.Folder, err = os.Getwd(); err != nil {
		return err
	}
	if from.Data, err = p.absoluteDataDir(); err != nil {
		return err
	}
	environment, err := json.MarshalIndent(from, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "environment.json"), append(environment, '\n'), 0o644)
}

// jobComment says how the job file of the results trains the same again.
func (p *program) jobComment(j job.Job, f flags) (string, error) {
	command := "go run ./cmd/train --file job.yaml"
	if len(f.modes) > 1 {
		command += " --mode " + strings.Join(f.modes, ",")
	}
	if f.seeds > 1 {
		command += fmt.Sprintf(" --seeds %d", f.seeds)
	}
	for _, delay := range f.delays {
		command += " --delay " + quoted(delay)
	}
	comment := "# The job with all its settings. To train it again:\n#   " + command + "\n"
	if !p.needsDataDir(j) {
		return comment, nil
	}
	folder, err := p.absoluteDataDir()
	return comment + "# Relative paths of the data start at TANDEM_DATA, which was " + folder + "\n", err
}

// needsDataDir reports whether the job's data are found by TANDEM_DATA.
func (p *program) needsDataDir(j job.Job) bool { return p.dataDir != "" && j.RelativeData() }

// absoluteDataDir returns TANDEM_DATA as an absolute path, or "" where it is not set.
func (p *program) absoluteDataDir() (string, error) {
	if p.dataDir == "" {
		return "", nil
	}
	return filepath.Abs(p.dataDir)
}

// replayCommand returns the command that replays the recordings in a folder from the working folder. It sets
// TANDEM_DATA where it needs it.
func (p *program) replayCommand(j job.Job, folder string) (string, error) {
	return p.withDataDir(j, "go run ./cmd/sim replay "+quoted(folder))
}

// withDataDir returns a command that sets TANDEM_DATA where the job needs it.
func (p *program) withDataDir(j job.Job, command string) (string, error) {
	if !p.needsDataDir(j) {
		return command, nil
	}
	data, err := p.absoluteDataDir()
	return "TANDEM_DATA=" + quoted(data) + " " + command, err
}

// quoted returns a word as a shell reads it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+=:,@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
