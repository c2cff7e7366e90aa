package system

import (
	"fmt"
	"reflect"
	"strings"

	"tandem/algo/quantity"
	"tandem/sim/preset"
)

// Complete takes the quantities that the profile lacks from its base, and then the ranges of its calibration.
func (p *Profile) Complete() error {
	if err := p.complete(); err != nil || p.Calibration == nil {
		return err
	}
	return p.Calibrate(p.Calibration)
}

// complete takes the quantities that the profile lacks from its base, which passes no calibration on.
func (p *Profile) complete() error {
	if p.Base == "" {
		return nil
	}
	if preset.IsFile(p.Base) {
		return fmt.Errorf("base = %q; want a built-in profile: %s", p.Base,
			strings.Join(Systems.Names(), ", "))
	}
	base, err := LoadUncalibrated(p.Base)
	switch {
	case err != nil:
		return fmt.Errorf("base: %w", err)
	case p.Architecture != base.Architecture:
		return fmt.Errorf("architecture = %s, but %s of the base %s; name another base", p.Architecture,
			base.Architecture, p.Base)
	}
	fill(reflect.ValueOf(p).Elem(), reflect.ValueOf(base).Elem())
	return nil
}

// fill copies the quantities of base that p lacks.
func fill(p, base reflect.Value) {
	if q, ok := p.Addr().Interface().(quantity.Parameter); ok {
		if !q.Given() {
			p.Set(base)
		}
		return
	}
	if p.Kind() == reflect.Struct {
		for i := range p.NumField() {
			fill(p.Field(i), base.Field(i))
		}
	}
}

// missing returns the name of the first quantity that the architecture needs and the profile lacks, or "".
func (p *Profile) missing() string {
	type section struct {
		name string
		of   any
	}
	needed := []section{{"nn-worker", &p.NNWorker}, {"collectives", &p.Collectives}, {"loader", &p.Loader}}
	switch p.Architecture {
	case Roles:
		needed = append(needed, section{"messages", &p.Messages},
			section{"embedding-worker", &p.EmbeddingWorker}, section{"embedding-ps", &p.EmbeddingPS},
			section{"dense-ps", &p.DensePS})
	case StepGraph:
		needed = append(needed, section{"embedding-kernels", &p.EmbeddingKernels},
			section{"dense-kernels", &p.DenseKernels}, section{"pipeline", &p.Pipeline})
	}
	for _, s := range needed {
		if name := firstMissing(s.name, reflect.ValueOf(s.of).Elem()); name != "" {
			return name
		}
	}
	return ""
}

// firstMissing returns the name of the first quantity in v that is neither given nor optional, or "".
func firstMissing(name string, v reflect.Value) string {
	if q, ok := v.Addr().Interface().(quantity.Parameter); ok {
		if q.Given() {
			return ""
		}
		return name
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("optional") != "" {
			continue
		}
		inside := name
		if key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); key != "" {
			inside += "." + key
		}
		if missing := firstMissing(inside, v.Field(i)); missing != "" {
			return missing
		}
	}
	return ""
}
