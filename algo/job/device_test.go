package job_test

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
)

func TestDevice(t *testing.T) {
	for text, ordinals := range map[string][]int{
		"cpu": nil, "cuda": nil, "cuda:0": {0}, "cuda:2,0,11": {2, 0, 11},
	} {
		d, err := job.ParseDevice(text)
		if err != nil || d.CUDA != (text != "cpu") || !slices.Equal(d.Ordinals, ordinals) ||
			d.String() != text {
			t.Errorf("%q is %+v, %q: %v", text, d, d, err)
		}
	}
	for text, want := range map[string]string{
		"": "want cpu, cuda", "gpu": "want cpu, cuda", "cuda:": `"" is not the number`,
		"cuda:-1": "from 0 on",
		"cuda:01": "from 0 on", "cuda:1,1": "GPU 1 twice", "cuda:0, 1": `" 1"`, "cuda:1024": "from 0 on",
		"cuda:" + strings.Repeat("9", 5000): "is not the number",
	} {
		d, err := job.ParseDevice(text)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.20q is %+v: %v; want an error with %q", text, d, err, want)
		}
	}
}

func TestDeviceInAJobFile(t *testing.T) {
	j, err := job.Parse([]byte("{data: {kind: adult-income}, model: {device: 'cuda:1'}}"), "job.yaml")
	if err != nil || !j.Model.Device.CUDA || !slices.Equal(j.Model.Device.Ordinals, []int{1}) {
		t.Fatalf("%+v: %v", j.Model.Device, err)
	}
}
