package delay

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Kind is a kind of delay: a distribution, a constant or a trace.
type Kind string

// The kinds of delay. The zero value, "", means that there is no delay.
const (
	AtMost       Kind = "at-most"      // uniform over 0 … Steps
	Exactly      Kind = "exactly"      // always Steps
	Geometric    Kind = "geometric"    // P(d) = p(1−p)^d with mean Mean
	Poisson      Kind = "poisson"      // the Poisson distribution with mean Mean
	Distribution Kind = "distribution" // P(d) ∝ Weights[d]
	Traced       Kind = "trace"        // the delays in File
)

// Limits bound the memory of a run: the gradient of a step is held for as many steps as its delay.
const (
	stepsMax = 1_000_000
	meanMax  = 500 // of the Poisson distribution, whose probabilities are computed from e^−mean
)

// none is the text form of the zero Spec.
const none = "none"

// Spec describes delays. Fields that Kind does not use are 0. The zero value means no delay.
type Spec struct {
	Kind    Kind
	Steps   int
	Mean    float64   // steps
	Weights []float64 // of the delays 0, 1, 2 …; any scale
	// File is the path of a trace, which Load reads.
	File  string
	trace *Trace
}

// forms lists the text forms, for error messages.
const forms = `write "at-most 5", "exactly 3", "geometric 2.5", "poisson 4", ` +
	`"distribution 5 3 2", "trace FILE" or "none"`

// Parse reads the text form of delays:
//
//	at-most τ            uniform over 0, 1 … τ, drawn for every step
//	exactly k            always k
//	geometric m          drawn for every step, of mean m
//	poisson m            drawn for every step, of mean m ≤ 500
//	distribution w0 w1…  delay d with probability w_d / Σw
//	trace FILE           the delays in a file; see ParseTrace
//	none                 no delay
func Parse(text string) (Spec, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	s := Spec{Kind: Kind(word)}
	rest = strings.TrimSpace(rest)
	var err error
	switch s.Kind {
	case none:
		s.Kind = ""
		if rest != "" {
			err = fmt.Errorf("unexpected %q", rest)
		}
	case AtMost, Exactly:
		s.Steps, err = strconv.Atoi(rest)
	case Geometric, Poisson:
		s.Mean, err = strconv.ParseFloat(rest, 64)
	case Distribution:
		for _, field := range strings.Fields(rest) {
			var weight float64
			if weight, err = strconv.ParseFloat(field, 64); err != nil {
				break
			}
			s.Weights = append(s.Weights, weight)
		}
	case Traced:
		s.File = rest
	default:
		err = fmt.Errorf("unknown kind")
	}
	if err != nil {
		return Spec{}, fmt.Errorf("%q is not a delay: %s", text, forms)
	}
	return s, s.Validate()
}

// Validate returns an error that names the first value out of range. It does not check that a trace is
// loaded.
func (s Spec) Validate() error {
	switch s.Kind {
	case "":
		return nil
	case AtMost, Exactly:
		if s.Steps < 0 || s.Steps > stepsMax {
			return fmt.Errorf("%s %d; want 0 to %d steps", s.Kind, s.Steps, stepsMax)
		}
		return nil
	case Geometric:
		if !(s.Mean >= 0 && s.Mean <= stepsMax) {
			return fmt.Errorf("%s %v; want a mean of 0 to %d steps", s.Kind, s.Mean, stepsMax)
		}
		return nil
	case Poisson:
		if !(s.Mean >= 0 && s.Mean <= meanMax) {
			return fmt.Errorf("%s %v; want a mean of 0 to %d steps", s.Kind, s.Mean, meanMax)
		}
		return nil
	case Distribution:
		return checkWeights(s.Weights)
	case Traced:
		if s.File == "" {
			return fmt.Errorf("trace without a file; write trace FILE")
		}
		return nil
	}
	return fmt.Errorf("%q is not a delay: %s", s.Kind, forms)
}

func checkWeights(weights []float64) error {
	sum := 0.0
	for d, w := range weights {
		if !(w >= 0) {
			return fmt.Errorf("%s: the weight of delay %d is %v; want 0 or more", Distribution, d, w)
		}
		sum += w
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return fmt.Errorf("%s with sum %v; want weights of the delays 0, 1, 2 … with a finite sum above 0",
			Distribution, sum)
	}
	return nil
}

// IsZero reports whether s is the zero value, no delay.
func (s Spec) IsZero() bool { return s.Kind == "" }

// String returns the text form, which Parse reads.
func (s Spec) String() string {
	switch s.Kind {
	case "":
		return none
	case AtMost, Exactly:
		return fmt.Sprintf("%s %d", s.Kind, s.Steps)
	case Geometric, Poisson:
		return fmt.Sprintf("%s %v", s.Kind, s.Mean)
	case Distribution:
		return fmt.Sprintf("%s %s", s.Kind, strings.Trim(fmt.Sprint(s.Weights), "[]"))
	}
	return fmt.Sprintf("%s %s", s.Kind, s.File)
}

// MarshalText returns String. The error is always nil.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets s to the Spec that Parse returns.
func (s *Spec) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}

// Load reads the file of a trace with read and parses it. It does nothing for other kinds.
func (s *Spec) Load(read func(file string) ([]byte, error)) error {
	if s.Kind != Traced {
		return nil
	}
	text, err := read(s.File)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	if s.trace, err = ParseTrace(text); err != nil {
		return fmt.Errorf("trace %s%w", s.File, err)
	}
	return nil
}
