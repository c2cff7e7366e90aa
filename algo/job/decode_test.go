package job_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/unit"
)

type common struct {
	Seed uint64 `yaml:"seed"`
}

type link struct {
	Name string           `yaml:"name"`
	Rate unit.BytesPerSec `yaml:"rate"`
}

// shout reads its own node.
type shout string

func (s *shout) UnmarshalYAML(node *yaml.Node) error {
	if node.Value == "whisper" {
		return errors.New("too quiet")
	}
	*s = shout(strings.ToUpper(node.Value))
	return nil
}

type example struct {
	Common    common `yaml:",inline"`
	Name      string `yaml:"name"`
	Algorithm struct {
		Mode      string    `yaml:"mode"`
		Staleness int       `yaml:"staleness"`
		Rate      float32   `yaml:"learning-rate"`
		Overlap   bool      `yaml:"overlap"`
		Period    unit.Tick `yaml:"period"`
	} `yaml:"algorithm"`
	Links   []link                `yaml:"links"`
	Devices map[string]link       `yaml:"devices"`
	Memory  map[string]unit.Bytes `yaml:"memory"`
	Fault   *link                 `yaml:"fault"`
	Limit   *int                  `yaml:"limit"`
	Widths  []int                 `yaml:"widths"`
	Cry     shout                 `yaml:"cry"`
	Plain   int                   // keyed by its name in lower case
	Hidden  int                   `yaml:"-"`
}

func TestDecode(t *testing.T) {
	const text = `
seed: 18446744073709551615
name: first
algorithm:
  mode: hybrid
  learning-rate: 1e-3
  overlap: true
  period: 1.5ms
links:
  - {name: a, rate: 25Gbps}
  - name: b
    rate: 0
devices:
  gpu: {rate: 900GB/s}
memory: {host: 480GiB}
fault: {name: x}
limit: 3
widths: [256, 128]
cry: loud
plain: 4
`
	got := example{Widths: []int{1, 2, 3}}
	got.Algorithm.Staleness = 7 // a default that the file leaves alone
	got.Devices = map[string]link{"gpu": {Name: "kept"}}
	if err := job.Decode([]byte(text), "job.yaml", &got); err != nil {
		t.Fatal(err)
	}
	three := 3
	want := example{
		Common: common{Seed: 1<<64 - 1}, Name: "first",
		Links:   []link{{"a", 25e9 / 8}, {"b", 0}},
		Devices: map[string]link{"gpu": {"kept", 900e9}},
		Memory:  map[string]unit.Bytes{"host": 480 << 30},
		Fault:   &link{Name: "x"}, Limit: &three, Widths: []int{256, 128}, Cry: "LOUD", Plain: 4,
	}
	want.Algorithm.Mode, want.Algorithm.Staleness, want.Algorithm.Rate = "hybrid", 7, 1e-3
	want.Algorithm.Overlap, want.Algorithm.Period = true, 1500*unit.Microsecond
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestDecodeKeepsDefaults(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "algorithm:\n", "name:\nlinks: ~\n"} {
		got := example{Name: "default", Links: []link{{Name: "a"}}}
		if err := job.Decode([]byte(text), "job.yaml", &got); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got.Name != "default" || len(got.Links) != 1 {
			t.Errorf("%q: defaults lost: %+v", text, got)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		text string
		kind error
		want string // the whole message
	}{
		{"nmae: x", job.ErrUnknownKey, `job.yaml:1: unknown key "nmae": did you mean "name"?`},
		{"name: x\nalgorithm:\n  stalenes: 1", job.ErrUnknownKey,
			`job.yaml:3: algorithm: unknown key "stalenes": did you mean "staleness"?`},
		{"links:\n- {name: a}\n- {rat: 1B/s}", job.ErrUnknownKey,
			`job.yaml:3: links[1]: unknown key "rat": did you mean "rate"?`},
		{"devices: {gpu: {speed: 1}}", job.ErrUnknownKey,
			`job.yaml:1: devices.gpu: unknown key "speed": use one of name, rate`},
		{"Hidden: 1", job.ErrUnknownKey, ""},
		{"algorithm:\n  staleness: many", job.ErrValue,
			`job.yaml:2: algorithm.staleness: "many" where a whole number (int) belongs`},
		{"algorithm: {staleness: 1.5}", job.ErrValue, `job.yaml:1: algorithm.staleness: "1.5" where a ` +
			`whole number (int) belongs`},
		{"algorithm: {overlap: 3}", job.ErrValue,
			`job.yaml:1: algorithm.overlap: "3" where true or false belongs`},
		{"algorithm: {learning-rate: fast}", job.ErrValue,
			`job.yaml:1: algorithm.learning-rate: "fast" where a number belongs`},
		{"algorithm: hybrid", job.ErrValue, `job.yaml:1: algorithm: "hybrid" where keys with values belong`},
		{"name: [a]", job.ErrValue, `job.yaml:1: name: a list where text belongs`},
		{"links: {name: a}", job.ErrValue, `job.yaml:1: links: keys with values where a list belongs`},
		{"links:\n- rate: 25Gb", job.ErrValue, ""},
		{"links:\n- rate: [1]", job.ErrValue, `job.yaml:2: links[0].rate: a list where one value belongs`},
		{"widths:\n- 1\n- x", job.ErrValue, `job.yaml:3: widths[1]: "x" where a whole number (int) belongs`},
		{"seed: -1", job.ErrValue, `job.yaml:1: seed: "-1" where a whole number from 0 (uint64) belongs`},
		{"cry: whisper", job.ErrValue, `job.yaml:1: cry: too quiet`},
		{"- a", job.ErrValue, `job.yaml:1: a list where keys with values belong`},
		{"name: a\nname: b", job.ErrSyntax, `job.yaml:2: key "name" is given twice, first in line 1`},
		{"name: &a x", job.ErrSyntax, `job.yaml:1: name: anchors and aliases are not supported: write the ` +
			`value out`},
		{"name: a\n---\nname: b", job.ErrSyntax, ""},
		{"name: [", job.ErrSyntax, ""},
		{"[a]: b", job.ErrSyntax, `job.yaml:1: a list where a key belongs`},
	} {
		err := job.Decode([]byte(c.text), "job.yaml", new(example))
		if !errors.Is(err, c.kind) {
			t.Errorf("%q: error %v, want kind %v", c.text, err, c.kind)
			continue
		}
		if c.want != "" && err.Error() != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, err, c.want)
		}
		if strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "job.yaml") {
			t.Errorf("%q: %q is not one line that begins with the file", c.text, err)
		}
	}
}

func TestDecodeUnitErrorNamesUnits(t *testing.T) {
	err := job.Decode([]byte("links:\n- rate: 25"), "job.yaml", new(example))
	if err == nil || !strings.Contains(err.Error(), "job.yaml:2: links[0].rate: ") ||
		!strings.Contains(err.Error(), "Gbps") {
		t.Errorf("error %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("name: x\nalgorithm: {staleness: 1}\nlinks:\n- {name: a, rate: 25Gbps}\n")
	f.Add("a: &a [*a]")
	f.Add("? [x]\n: y")
	f.Fuzz(func(t *testing.T, text string) {
		err := job.Decode([]byte(text), "job.yaml", new(example))
		var place *job.Error
		if err != nil && !errors.As(err, &place) {
			t.Errorf("error %v has no place", err)
		}
	})
}
