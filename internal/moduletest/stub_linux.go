package moduletest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stub is a linear network: one weight for each embedding value and each number of a sample.
type stub struct {
	requests *bufio.Reader
	replies  *os.File
	memory   int // a descriptor
	fault    Fault
	passed   int // times that the place of the fault was
	inputs   int // values of a sample
	width    int // embedding values among them
	labels   int
	constant bool // it predicts one half
	own      bool // it computes its loss
	stepping bool // it has an optimizer
	drawn    bool // it is written as ONNX
	compile  bool // it is to be compiled, which it cannot be
	areas    map[int][]float32
	passes   map[int]*pass
	devices  []string // of the ranks
	placed   bool     // on that of a rank
}

// pass has the parts of its memory: see views of runtime/torch.
type pass struct {
	samples, params                                        int
	grads, embeddings, embeddingGrads, numbers, logitGrads []float32
}

// config is what the stub reads of a configuration.
type config struct {
	Class     string   `json:"class"`
	Arguments Fault    `json:"arguments"`
	Width     int      `json:"width"`
	Numbers   []string `json:"numbers"`
	Labels    []string `json:"labels"`
	Compile   bool     `json:"compile"`
	Devices   []string `json:"devices"`
}

// request is a line with a request.
type request struct {
	Do      string  `json:"do"`
	Pass    int     `json:"pass"`
	Area    int     `json:"area"`
	Params  int     `json:"params"`
	Samples int     `json:"samples"`
	Train   bool    `json:"train"`
	Seed    uint64  `json:"seed"`
	Offset  int64   `json:"offset"`
	Floats  int     `json:"floats"`
	File    string  `json:"file"`
	Share   float64 `json:"share"`
	Rank    int     `json:"rank"`
}

// serve answers requests until there are no more.
func serve() error {
	s := &stub{requests: bufio.NewReader(os.NewFile(3, "requests")), replies: os.NewFile(4, "replies"),
		memory: 6, areas: map[int][]float32{}, passes: map[int]*pass{}}
	var c config
	if err := s.read(&c); err != nil {
		return err
	}
	s.compile, s.devices = c.Compile, c.Devices
	s.drawn = c.Class == Drawn
	s.constant, s.stepping, s.own = c.Class == Constant, c.Class == Stepping, c.Class == Own
	s.fault, s.width, s.inputs, s.labels = c.Arguments, c.Width, c.Width+len(c.Numbers), len(c.Labels)
	for {
		var r request
		if err := s.read(&r); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := s.answer(r); err != nil {
			return err
		}
	}
}

func (s *stub) read(to any) error {
	line, err := s.requests.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, to)
}

func (s *stub) reply(what any) error {
	line, err := json.Marshal(what)
	if err == nil {
		_, err = s.replies.Write(append(line, '\n'))
	}
	return err
}

// answer answers a request.
func (s *stub) answer(r request) error {
	switch r.Do {
	case "expect":
		return nil
	case "map":
		bytes, err := unix.Mmap(s.memory, r.Offset, 4*r.Floats, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_SHARED)
		if err == nil {
			s.areas[r.Area] = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(bytes))), r.Floats)
		}
		return err
	case "place":
		s.placed = true
		_, err := fmt.Printf("rank %d on %s\n", r.Rank, s.devices[r.Rank%len(s.devices)])
		return err
	case "describe":
		if err := s.fail(Describe); err != nil {
			return err
		}
		if s.compile {
			return s.reply(map[string]any{"error": "the stub has no compiler"})
		}
		return s.reply(s.describe())
	case "init":
		if err := s.fail(Init); err != nil {
			return err
		}
		for i := range s.areas[r.Area] {
			s.areas[r.Area][i] = float32(r.Seed%7+1) / float32(100+i)
		}
		if err := s.load(r); err != nil {
			return s.reply(map[string]any{"error": err.Error()})
		}
		return s.reply(map[string]any{"running": []float32{}})
	case "save":
		text, err := json.Marshal(s.areas[r.Area])
		if err == nil {
			err = os.WriteFile(r.File, text, 0o600)
		}
		if err != nil {
			return err
		}
		return s.reply(map[string]any{})
	case "onnx":
		return s.reply(map[string]any{"left_out": "the stub has no ONNX"})
	case "graph":
		if err := s.fail(Graph); err != nil {
			return err
		}
		graph := GraphOf(s.width, s.inputs-s.width, s.labels, nil)
		if err := os.WriteFile(r.File, graph, 0o600); err != nil {
			return err
		}
		return s.reply(map[string]any{})
	case "step":
		s.step(r)
		return s.reply(map[string]any{})
	case "forward":
		return s.forward(r)
	case "backward":
		return s.backward(r)
	}
	return fmt.Errorf("the stub has no request %s", r.Do)
}

// describe returns what the module is.
func (s *stub) describe() map[string]any {
	tensor := map[string]any{"name": "linear.weight", "shape": []int{s.labels, s.inputs}}
	answer := map[string]any{"tensors": []any{tensor}, "buckets": [][2]int{{0, s.labels * s.inputs}},
		"norms": []int{}, "own_loss": s.own, "torch": Version, "onnx": s.drawn, "copies": s.devices != nil,
		"cost": map[string]any{"forward": 2 * s.inputs * s.labels, "backward": 4 * s.inputs * s.labels,
			"bytes": 8 * s.labels, "kernels": 1}}
	if s.stepping {
		answer["slots"] = 1
	}
	return answer
}

// load sets the weights to those of a file that save has written, if the request has one.
func (s *stub) load(r request) error {
	if r.File == "" {
		return nil
	}
	text, err := os.ReadFile(r.File)
	if err != nil {
		return err
	}
	var weights []float32
	if err := json.Unmarshal(text, &weights); err != nil || len(weights) != len(s.areas[r.Area]) {
		return fmt.Errorf("%s is not a state_dict", r.File)
	}
	copy(s.areas[r.Area], weights)
	return nil
}

// step takes a step of the optimizer, which is smaller from step to step.
func (s *stub) step(r request) {
	n := s.labels * s.inputs
	params, grads, steps := s.areas[r.Area][:n], s.areas[r.Area][n:2*n], s.areas[r.Area][2*n:]
	for i := range params {
		if steps[i] != steps[i] { // NaN: the first
			steps[i] = 0
		}
		steps[i]++
		params[i] -= float32(r.Share) * grads[i] / steps[i]
	}
}

// forward computes the logits of a group.
func (s *stub) forward(r request) error {
	at := Predict
	if r.Train {
		at = Train
	}
	if err := s.fail(at); err != nil {
		return err
	}
	if s.devices != nil && !s.placed {
		return errors.New("a pass on a device of no rank")
	}
	rest, n := s.areas[r.Area], r.Samples
	cut := func(size int) (part []float32) {
		part, rest = rest[:size], rest[size:]
		return part
	}
	p := &pass{samples: n, params: r.Params, grads: cut(s.labels * s.inputs)}
	cut(1) // statistics
	p.embeddings, p.embeddingGrads = cut(n*s.width), cut(n*s.width)
	p.numbers = cut(n * (s.inputs - s.width))
	labels, logits := cut(n*s.labels), cut(n*s.labels)
	p.logitGrads = cut(n * s.labels)
	for i := range n {
		for label := range s.labels {
			sum := float32(0)
			if !s.constant {
				for j, weight := range s.weights(r.Params, label) {
					sum += float32(weight * p.input(s, i, j))
				}
			}
			logits[i*s.labels+label] = sum
		}
	}
	if s.own && r.Train {
		lossOf(logits, labels, p.logitGrads)
	}
	s.passes[r.Pass] = p
	return s.reply(map[string]any{"pass": r.Pass})
}

// lossOf writes the gradients of half the squared error, and the sum of it in the place of the first logit.
func lossOf(logits, labels, grads []float32) {
	loss := float32(0)
	for i, z := range logits {
		grads[i] = z - labels[i]
		loss += grads[i] * grads[i] / 2
	}
	logits[0] = loss
}

// weights returns those of a label.
func (s *stub) weights(params, label int) []float32 {
	return s.areas[params][label*s.inputs : (label+1)*s.inputs]
}

// input returns a value of a sample.
func (p *pass) input(s *stub, sample, value int) float32 {
	if value < s.width {
		return p.embeddings[sample*s.width+value]
	}
	return p.numbers[sample*(s.inputs-s.width)+value-s.width]
}

// backward computes the gradients of a group.
func (s *stub) backward(r request) error {
	p := s.passes[r.Pass]
	clear(p.grads)
	clear(p.embeddingGrads)
	for i := range p.samples {
		for label := range s.labels {
			of := p.logitGrads[i*s.labels+label]
			for j, weight := range s.weights(p.params, label) {
				p.grads[label*s.inputs+j] += float32(of * p.input(s, i, j))
				if j < s.width {
					p.embeddingGrads[i*s.width+j] += float32(of * weight)
				}
			}
		}
	}
	if err := s.reply(map[string]any{"pass": r.Pass, "bucket": 0}); err != nil {
		return err
	}
	return s.reply(map[string]any{"pass": r.Pass, "done": true})
}

// fail does what goes wrong at a place.
func (s *stub) fail(at string) error {
	if s.fault.At != at {
		return nil
	}
	if s.passed++; s.passed <= s.fault.After {
		return nil
	}
	if s.fault.Once != "" {
		file, err := os.OpenFile(s.fault.Once, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		if err != nil {
			return err
		}
		file.Close()
	}
	switch s.fault.Kind {
	case Dies:
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		time.Sleep(time.Hour)
	case Hangs:
		_, _ = s.replies.WriteString(`{"pass":`)
		time.Sleep(time.Hour)
	case Raises:
		return s.reply(map[string]any{"error": "net.py:7: forward: ValueError: no such user"})
	case Garbled:
		_, err := s.replies.WriteString("none\n")
		return err
	case Floods:
		_, err := fmt.Fprint(os.Stdout, strings.Repeat(strings.Repeat("x", 1023)+"\n", 1024), "panic: no end")
		return err
	}
	return nil
}
