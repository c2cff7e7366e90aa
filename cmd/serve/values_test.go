package main

import (
	"math"
	"net/http"
	"strings"
	"testing"

	"tandem/runtime/grpcnet"
)

// A datatype has the values that fit its bytes: truth values also as 1 and 0, whole numbers in their range,
// and of floating ones null, which is a missing number.
func TestValuesOfDatatypes(t *testing.T) {
	bits := func(x float64) uint64 { return math.Float64bits(x) }
	of := func(x int64) uint64 { return uint64(x) }
	for datatype, values := range map[string]map[string]uint64{
		"BOOL":  {"true": 1, "1": 1, "false": 0, "0": 0},
		"INT8":  {"-128": of(-128), "127": 127, "0": 0},
		"INT64": {"-9223372036854775808": of(math.MinInt64), "9223372036854775807": math.MaxInt64},
		"UINT8": {"255": 255, "0": 0}, "UINT64": {"18446744073709551615": math.MaxUint64},
		"FP32": {"1.5": bits(1.5), "-2e3": bits(-2000), "null": bits(math.NaN())},
		"FP64": {"1e300": bits(1e300), "null": bits(math.NaN())},
	} {
		for text, want := range values {
			if got, ok := scalars[datatype].parse(text); !ok || got.bits != want {
				t.Errorf("%s: %s is %x, %v; want %x", datatype, text, got.bits, ok, want)
			}
		}
	}
	for datatype, texts := range map[string][]string{
		"BOOL": {"2", "-1", "null", "True", "", "10"}, "INT8": {"128", "-129", "1.0", "null", ""},
		"INT16": {"32768"}, "INT64": {"9223372036854775808"}, "UINT8": {"256", "-1"},
		"UINT64": {"18446744073709551616"}, "FP32": {"x", "", "1e999", "true"}, "FP64": {"1e999"},
	} {
		for _, text := range texts {
			if got, ok := scalars[datatype].parse(text); ok {
				t.Errorf("%s: %q is %x", datatype, text, got.bits)
			}
		}
	}
}

// An error of the HTTP server is a line of the log; a handshake that failed is a refusal of its client.
func TestErrorsOfTheHTTPServer(t *testing.T) {
	var lines []string
	d := &door{}
	d.refusals = grpcnet.Refusals{Log: func(line string) { lines = append(lines, line) },
		Counted: d.counts.Count}
	for _, line := range []string{"http: Accept error: too many open files\n",
		"http: TLS handshake error from 10.0.0.7:99: remote error: tls: bad certificate\n"} {
		if n, err := (httpErrors{d}).Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("%d of %d bytes, %v", n, len(line), err)
		}
	}
	if len(lines) != 2 || lines[0] != "http: Accept error: too many open files" ||
		!strings.Contains(lines[1], "10.0.0.7") || !strings.Contains(lines[1], "bad certificate") {
		t.Errorf("%q", lines)
	}
	quiet := &door{}
	if n, err := (httpErrors{quiet}).Write([]byte("x\n")); n != 2 || err != nil {
		t.Errorf("without a log: %d, %v", n, err)
	}
}

// A model or a version that is not served is not described and not ready.
func TestOtherModelsAreUnknown(t *testing.T) {
	_, folder := save(t)
	address, _ := start(t, folder, "--name", "clicks")
	for path, want := range map[string]int{"/v2/models/clicks": 200, "/v2/models/clicks/ready": 200,
		"/v2/models/other": 404, "/v2/models/other/ready": 404, "/v2/models/clicks/versions/9": 404,
		"/v2/models/clicks/versions/9/ready": 404, "/v3": 404} {
		r, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, r.StatusCode, want)
		}
	}
}
