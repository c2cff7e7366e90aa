package job

import (
	"embed"
	"errors"
	"fmt"
	"strings"
)

// PresetCriteo is the preset of the Criteo Kaggle click log.
const PresetCriteo = "criteo"

//go:embed synthetic
var synthetics embed.FS

// SyntheticPresets returns the names of all presets of generated data, in alphabetical order.
// The files of the folder synthetic say where each number comes from.
func SyntheticPresets() []string {
	files, err := synthetics.ReadDir("synthetic")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(file.Name(), ".yaml")
	}
	return names
}

// syntheticPreset returns a preset, or false if there is none of that name.
func syntheticPreset(name string) (preset Synthetic, ok bool) {
	file := "synthetic/" + name + ".yaml"
	text, err := synthetics.ReadFile(file)
	if err != nil {
		return preset, false
	}
	if err := Decode(text, file, &preset); err != nil {
		panic(err) // the file is compiled in
	}
	return preset, true
}

// unknownPreset returns the error for a preset that does not exist.
func unknownPreset(name string) error {
	known := SyntheticPresets()
	if nearest := Nearest(name, known); nearest != "" {
		return fmt.Errorf("%q: no preset of generated data; the nearest is %q", name, nearest)
	}
	return errors.New(fmt.Sprintf("%q: no preset of generated data; known are ", name) +
		strings.Join(known, ", "))
}

// merge supplies the fields that s lacks from a preset.
func (s *Synthetic) merge(preset Synthetic) {
	if len(s.Columns) == 0 {
		s.Columns = preset.Columns
		if len(s.Ties) == 0 {
			s.Ties = preset.Ties
		}
		if len(s.Blanks) == 0 {
			s.Blanks = preset.Blanks
		}
	}
	if s.Numeric == 0 {
		s.Numeric = preset.Numeric
	}
	if s.PositiveRate == 0 {
		s.PositiveRate = preset.PositiveRate
	}
	if s.RowsPerDay == 0 {
		s.RowsPerDay = preset.RowsPerDay
	}
	if s.Teacher == (SyntheticTeacher{}) {
		s.Teacher = preset.Teacher
	}
	s.Preset = ""
}
