package ages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/experiments/internal/report"
)

// ratings returns MovieLens in the order of time, which does not depend on a seed.
func (p *plan) ratings(uint64) (set *datasets.Dataset, err error) {
	original := report.MovieLens100K().Data
	path := original.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.folder, path)
	}
	folder, err := os.MkdirTemp("", "ages-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) // what is left is in the system's folder of such files
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sorted, err := byTime(text, p.RatingsMost)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	data := original
	data.Path = filepath.Join(folder, "u.data")
	if err := os.WriteFile(data.Path, sorted, 0o600); err != nil {
		return nil, err
	}
	for _, name := range []string{"u.user", "u.item"} {
		attributes, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if os.IsNotExist(err) {
			continue // columns without ids
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), attributes, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	data.Split = job.Split{Test: 0.001} // the last, which no arm is trained on
	return datasets.Open(data, "")
}

// byTime returns the lines of u.data, or the first of them up to a number, in the order of their time, its
// fourth column. Ratings of one second stay in the order of the file.
func byTime(text []byte, most int) ([]byte, error) {
	lines := bytes.Split(text, []byte{'\n'})
	lines = slices.DeleteFunc(lines, func(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 })
	times := map[*byte]int{} // by the first byte of the line
	for i, line := range lines {
		fields := bytes.Split(bytes.TrimSpace(line), []byte{'\t'})
		when, err := strconv.Atoi(string(fields[len(fields)-1]))
		if err != nil {
			return nil, fmt.Errorf("line %d has no time: %w", i+1, err)
		}
		times[&line[0]] = when
	}
	slices.SortStableFunc(lines, func(a, b []byte) int { return times[&a[0]] - times[&b[0]] })
	if most > 0 {
		lines = lines[:min(most, len(lines))]
	}
	return append(bytes.Join(lines, []byte{'\n'}), '\n'), nil
}
