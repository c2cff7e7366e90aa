package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// monitoring is the folder with the examples for Prometheus and Grafana.
var monitoring = filepath.Join("..", "..", "docs", "monitoring")

func readExample(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(monitoring, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// names returns the names under which metrics have values, and the names of their labels.
func names(s *Snapshot) (found, labels map[string]bool) {
	found, labels = map[string]bool{}, map[string]bool{"instance": true} // which Prometheus adds
	label := regexp.MustCompile(`([a-z_]+)="`)
	for _, samples := range s.samples { // order-free: a set
		for _, line := range samples {
			name, _, _ := strings.Cut(strings.SplitN(line, " ", 2)[0], "{")
			found[name] = true
			for _, match := range label.FindAllStringSubmatch(line, -1) {
				labels[match[1]] = true
			}
		}
	}
	return found, labels
}

// Every metric and every label that the dashboard asks for exists.
func TestDashboard(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(readExample(t, "grafana.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	found, labels := names(everything())
	word := regexp.MustCompile(`\b(tandem|process|go)_[a-z_]+`)
	shown := regexp.MustCompile(`{{([a-z_]+)}}`)
	asked := map[string]bool{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			metrics := word.FindAllString(target.Expr, -1)
			if len(metrics) == 0 {
				t.Errorf("%s: %q asks for nothing", p.Title, target.Expr)
			}
			for _, m := range metrics {
				asked[m] = true
				if !found[m] {
					t.Errorf("%s: there is no metric %s", p.Title, m)
				}
			}
			for _, match := range shown.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !labels[match[1]] {
					t.Errorf("%s: there is no label %s", p.Title, match[1])
				}
			}
		}
	}
	if len(asked) < 15 {
		t.Errorf("the dashboard asks for %d metrics only", len(asked))
	}
}

// The configuration for Prometheus is YAML with targets.
func TestPrometheusConfiguration(t *testing.T) {
	var configuration struct {
		Scrape []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal(readExample(t, "prometheus.yml"), &configuration); err != nil {
		t.Fatal(err)
	}
	if len(configuration.Scrape) != 1 || len(configuration.Scrape[0].Static) != 3 {
		t.Errorf("%+v", configuration)
	}
}

// The page lists all metrics as they are declared.
func TestPageListsMetrics(t *testing.T) {
	text := string(readExample(t, "README.md"))
	var want []string
	for _, m := range All() {
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", m.Name, m.Kind, m.Help))
	}
	var got []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table of README.md is not that of the metrics; it must be:\n%s",
			strings.Join(want, "\n"))
	}
}
