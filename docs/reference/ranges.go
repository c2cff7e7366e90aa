package main

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"tandem/algo/job"
)

// examples are jobs that together have every key whose range the checks of a job know.
//
//go:embed examples
var examples embed.FS

// exampleJobs returns the jobs of examples, by the names of their files.
func exampleJobs() map[string]job.Job {
	files, err := fs.Glob(examples, "examples/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	all := map[string]job.Job{}
	for _, name := range files {
		text, err := examples.ReadFile(name)
		if err != nil {
			panic(err) // it is compiled in
		}
		j, err := job.Parse(text, name)
		if err != nil {
			panic(err) // the examples are part of the program
		}
		all[name] = j
	}
	return all
}

// probeRanges returns what the checks of a job say of values that cannot be, by path: it sets one key after
// another to such values and reads the errors.
func probeRanges() map[string]string {
	found := map[string]string{}
	jobs := exampleJobs()
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		j := jobs[name]
		probe("", reflect.ValueOf(&j).Elem(), func(path string) {
			if found[path] == "" {
				found[path] = rangeOf(path, validate(&j))
			}
		})
	}
	return found
}

// validate returns the first error of a job, as the checks of a job file find it.
func validate(j *job.Job) error {
	if err := j.Data.Validate(); err != nil {
		return fmt.Errorf("data.%w", err)
	}
	if err := j.ValidateShared(); err != nil {
		return err
	}
	if err := j.Cluster.Validate(); err != nil {
		return fmt.Errorf("cluster.%w", err)
	}
	return nil
}

// probe sets every value below v to values that it cannot have, one at a time, and calls check after each.
func probe(path string, v reflect.Value, check func(path string)) {
	if own, _ := formOf(v); own && v.Kind() == reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			probe(path, v.Elem(), check)
		}
		return
	case reflect.Struct:
		for i := range v.NumField() {
			name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			switch {
			case options == "inline":
				probe(path, v.Field(i), check)
			case name != "" && v.Field(i).CanSet():
				probe(join(path, name), v.Field(i), check)
			}
		}
		return
	case reflect.Slice:
		if v.Len() > 0 {
			probe(path+"[]", v.Index(0), check)
		}
		return
	}
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	for _, bad := range impossible(v) {
		v.Set(bad)
		check(path)
	}
	v.Set(before)
}

// impossible returns values that hardly any key can have.
func impossible(v reflect.Value) (values []reflect.Value) {
	add := func(x any) { values = append(values, reflect.ValueOf(x).Convert(v.Type())) }
	switch v.Kind() {
	case reflect.String:
		add("?!")
	case reflect.Float32, reflect.Float64:
		add(math.NaN())
		add(-1e300)
	case reflect.Int, reflect.Int64:
		add(int64(-1))
		add(int64(math.MaxInt64))
	case reflect.Int32:
		add(int32(-1))
	}
	return values
}

// position is the number of an item of a list.
var position = regexp.MustCompile(`\[[0-9]+\]`)

// rangeOf returns the range that an error names, if the error is about the key.
func rangeOf(path string, err error) string {
	if err == nil || path == "training.overlap" { // whose words depend on the mode
		return ""
	}
	if about := position.ReplaceAllString(err.Error(), "[]"); !strings.HasPrefix(about, path) {
		return ""
	}
	return strings.TrimPrefix(wanted(err.Error()), "lie ")
}

// demand is how an error begins to say what it wants instead.
var demand = regexp.MustCompile(
	`(?:[;,] want |: must (be )?|; known are |: write |; write it as |; write )(.*)$`)

// quotes makes a list of words of one that Go prints.
var quotes = strings.NewReplacer(`" "`, ", ", `["`, "", `"]`, "")

// wanted returns what an error wants; "" if it does not say.
func wanted(text string) string {
	match := demand.FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	if text := match[2]; match[1] != "" || !strings.HasPrefix(text, "not ") {
		return quotes.Replace(text)
	}
	return "must " + match[2]
}
