package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// WriteFolder completes a report with the findings and notes that follow from its comparisons, and writes it
// to a folder:
//
//	<name>.json    the numbers, with environment and command
//	settings.yaml  the resolved settings
//	differences.csv, if there are comparisons
//	table-1.csv, …  the tables, in their order
//	<figure>.png, <figure>.svg
//	report.html    everything on one self-contained page
func (r *Report) WriteFolder(folder string) error {
	r.conclude()
	if err := r.checkQuantities(); err != nil {
		return err
	}
	settings, err := r.settingsText()
	if err != nil {
		return err
	}
	var numbers bytes.Buffer
	if err := r.WriteJSON(&numbers); err != nil {
		return fmt.Errorf("report: %s as JSON: %w", r.Name, err)
	}
	pictures := make([][]byte, len(r.Figures))
	for i, figure := range r.Figures {
		if pictures[i], err = figure.PNG(); err != nil {
			return fmt.Errorf("report: figure %s: %w", figure.Name, err)
		}
		drawing, err := figure.SVG()
		if err != nil {
			return fmt.Errorf("report: figure %s: %w", figure.Name, err)
		}
		if err := writeFile(folder, figure.Name+".png", pictures[i]); err != nil {
			return err
		}
		if err := writeFile(folder, figure.Name+".svg", drawing); err != nil {
			return err
		}
	}
	page, err := r.page(settings, pictures)
	if err != nil {
		return fmt.Errorf("report: page of %s: %w", r.Name, err)
	}
	for i, table := range r.Tables {
		var text bytes.Buffer
		rows := append([][]string{table.Header}, table.Rows...)
		if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
			return err
		}
		if err := writeFile(folder, fmt.Sprintf("table-%d.csv", i+1), text.Bytes()); err != nil {
			return err
		}
	}
	if len(r.Comparisons) > 0 {
		var differences bytes.Buffer
		if err := r.writeDifferences(&differences); err != nil {
			return err
		}
		if err := writeFile(folder, DifferencesName, differences.Bytes()); err != nil {
			return err
		}
	}
	if err := writeFile(folder, r.Name+".json", numbers.Bytes()); err != nil {
		return err
	}
	if err := writeFile(folder, "settings.yaml", settings); err != nil {
		return err
	}
	return writeFile(folder, "report.html", page)
}

func (r *Report) settingsText() ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(r.Settings); err != nil {
		return nil, fmt.Errorf("report: settings of %s: %w", r.Name, err)
	}
	return text.Bytes(), nil
}

func writeFile(folder, name string, data []byte) error {
	return os.WriteFile(filepath.Join(folder, name), data, 0o644)
}
