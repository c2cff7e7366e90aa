package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kinds of networks.
const (
	LogisticRegression   = "logistic-regression"
	FactorizationMachine = "fm"
	DeepFM               = "deepfm"
	DLRM                 = "dlrm"
	DCNv2                = "dcn-v2"
	FeedForward          = "feed-forward"
	Torch                = "torch" // a class of a Python file
)

// Kinds lists the kinds of networks that are built in, the simplest first.
func Kinds() []string {
	return []string{LogisticRegression, FactorizationMachine, DeepFM, DLRM, DCNv2, FeedForward}
}

// Structures of a dcn-v2: the hidden layers behind the cross layers, or beside
// them.
const (
	Stacked  = "stacked"
	Parallel = "parallel"
)

// Activations of hidden layers.
const (
	ReLU         = "relu"
	NoActivation = "none"
)

// Larger numbers are taken for a mistake.
const (
	layerWidthMax   = 1 << 20 // of hidden layers, and of rank
	layersMax       = 100     // of a stack
	crossLayersMax  = 100
	headsMax        = 100
	embeddingDimMax = 1 << 16       // and of factors
	paramsMax       = math.MaxInt32 // of the whole network: 8 GiB, and as much for every copy
)

// Spec describes a network. Fields that its kind does not use are ignored, so
// that a job may change the kind alone.
type Spec struct {
	// Kind is the architecture.
	Kind string `yaml:"kind"`
	// File and Class name the network of a torch: a class of a Python file. Arguments are those of its
	// constructor, by name.
	File      string         `yaml:"file,omitempty"`
	Class     string         `yaml:"class,omitempty"`
	Arguments map[string]any `yaml:"arguments,omitempty"`
	// Compile lets torch.compile compile the network of a torch, which takes a C++ compiler and minutes.
	Compile bool `yaml:"compile,omitempty"`
	// Source is the text of File, of at most 256 KiB, which is what runs. It is read with the job, and so in
	// every saved model.
	Source string `yaml:"source,omitempty"`
	// Traced is what a training has found that a torch costs, so that the simulator knows it. It is written
	// to the job of the results.
	Traced *Traced `yaml:"traced,omitempty"`
	// EmbeddingDim is the length of the embedding of an id, which is the row but
	// for deepfm, whose rows have one value more: a linear weight, the first.
	// Used by deepfm, dlrm, dcn-v2, feed-forward and torch.
	EmbeddingDim int `yaml:"embedding-dim"`
	// Factors is the length of a factor vector of an fm; a row has one value more,
	// as in deepfm.
	Factors int `yaml:"factors"`
	// Wide names slots of an fm or a deepfm whose ids have a linear weight alone and no factors, as the
	// crosses of Wide & Deep have: ids that stand for several columns, whose factors would learn the
	// training rows by heart. Their rows are as long as others, and the values behind the first are not used.
	// One slot or numeric feature must be left.
	Wide []string `yaml:"wide,omitempty,flow"`
	// SparseTower and DenseTower are the layers that the pooled embeddings and the
	// numeric features of a feed-forward network pass before they are joined; nothing
	// or no layers pass them on as they are.
	SparseTower *Tower `yaml:"sparse-tower"`
	DenseTower  *Tower `yaml:"dense-tower"`
	// Bottom are the widths of the hidden layers over the numeric features of a
	// dlrm; a layer of EmbeddingDim follows them.
	Bottom []int `yaml:"bottom"`
	// Top are the widths of the hidden layers before the last linear layer to one
	// logit: behind the join of a feed-forward network, behind the interactions of
	// a dlrm, the deep part of a deepfm and of a dcn-v2.
	Top []int `yaml:"top"`
	// CrossLayers is the number of cross layers of a dcn-v2.
	CrossLayers int `yaml:"cross-layers"`
	// Structure of a dcn-v2 is stacked, where Top takes the output of the cross
	// layers, or parallel, where both take the features.
	Structure string `yaml:"structure"`
	// Rank r of a dcn-v2 makes the matrix of a cross layer the product of one with
	// r columns and one with r rows; 0: a full matrix.
	Rank int `yaml:"rank"`
	// Activation follows every hidden layer, those of towers and Bottom included,
	// after its batch norm if it has one: relu or none. Cross layers have none.
	Activation string `yaml:"activation"`
	// BatchNorm puts a batch norm behind every hidden layer of Top and of the heads.
	BatchNorm bool `yaml:"batch-norm"`
	// Loss is what training minimises. Empty: the cross-entropy of labels from 0 to 1. squared: half the
	// squared error of labels that are numbers, in units of a Head's Scale.
	Loss string `yaml:"loss,omitempty"`
	// Heads are the heads of the network, one for each label of the data and in
	// their order; empty: one. An fm and a deepfm have one.
	Heads []Head `yaml:"heads"`
}

// Head predicts one label from what the network shares among all.
type Head struct {
	// Layers are the widths of hidden layers of the head's own. A
	// logistic-regression has none.
	Layers []int `yaml:"layers"`
	// Weight is what the loss of the label counts in the sum that training
	// minimises; at least 0, where 0 means 1.
	Weight float64 `yaml:"weight"`
	// PositiveWeight is what a positive sample counts in the loss of the label; a negative one counts 1. At
	// least 0, where 0 means 1. The odds that a model predicts are then about PositiveWeight times the true
	// ones.
	PositiveWeight float64 `yaml:"positive-weight,omitempty"`
	// Bias is added to the initial bias of the logit, at most 30 in size. With log(p/(1−p)), predictions
	// begin near the share p of positive samples, so that training need not find it first.
	Bias float64 `yaml:"bias,omitempty"`
	// Center and Scale make predictions of the outputs z of a network with squared loss: Center + Scale·z.
	// With the mean and the standard deviation of the label, learning rates mean the same for any label.
	// Scale is at least 0, where 0 means 1.
	Center float64 `yaml:"center,omitempty"`
	Scale  float64 `yaml:"scale,omitempty"`
}

// SquaredLoss is the Loss of networks that predict numbers.
const SquaredLoss = "squared"

// BiasMax is the largest size of a Head's Bias: a probability of 10⁻¹³.
const BiasMax = 30

// positiveWeightMax is the largest PositiveWeight, and the inverse of the smallest.
const positiveWeightMax = 1e6

// Tower is a stack of hidden layers over one kind of input.
type Tower struct {
	// Layers are the widths of the layers, from the input on.
	Layers []int `yaml:"layers"`
	// BatchNorm puts a batch norm behind every layer.
	BatchNorm bool `yaml:"batch-norm"`
}

// Default is the network used outside throughput studies: 16 values a row, top
// 256-128, relu. The fields of the other kinds are set too, for a job that
// changes the kind alone: 8 factors, bottom 64, three full cross layers, stacked.
func Default() Spec {
	return Spec{
		Kind:         FeedForward,
		EmbeddingDim: 16,
		Factors:      8,
		Bottom:       []int{64},
		Top:          []int{256, 128},
		CrossLayers:  3,
		Structure:    Stacked,
		Activation:   ReLU,
	}
}

// PersiaAdultIncome is the network of Persia's adult-income example: rows of 8,
// one batch-normalized layer of 128 over the embeddings and one of 16 over the
// numeric features, then 256, 128 and the logit, without activations.
//
// Source: Persia's repository, the adult-income example.
func PersiaAdultIncome() Spec {
	return Spec{
		Kind:         FeedForward,
		EmbeddingDim: 8,
		SparseTower:  &Tower{Layers: []int{128}, BatchNorm: true},
		DenseTower:   &Tower{Layers: []int{16}, BatchNorm: true},
		Top:          []int{256, 128},
		Activation:   NoActivation,
	}
}

// PersiaTower is the network of Persia's evaluation: hidden layers of 4096, 2048,
// 1024, 512 and 256. Rows of 16 values follow from the parameter counts that the
// paper gives (540 M for the 33.8 M ids of Criteo). That relu is the activation
// is our reading; the paper names none.
//
// Source: Lian and others, arXiv 2111.05897, the evaluation.
func PersiaTower() Spec {
	return Spec{Kind: FeedForward, EmbeddingDim: 16, Top: []int{4096, 2048, 1024, 512, 256}, Activation: ReLU}
}

// Dim returns the row length that the network wants of every slot, or that slots have unless the data say
// otherwise, if it has AnyDims: EmbeddingDim, a value a head for logistic-regression, Factors+1 for fm,
// EmbeddingDim+1 for deepfm.
func (s Spec) Dim() int {
	switch s.Kind {
	case LogisticRegression:
		return s.Labels()
	case FactorizationMachine:
		return s.Factors + 1
	case DeepFM:
		return s.EmbeddingDim + 1
	}
	return s.EmbeddingDim
}

// AnyDims reports whether the slots may differ in the length of their rows: whether the network takes the
// values of rows one by one. Other networks multiply the rows of different slots, or take a value of each row
// for every head.
func (s Spec) AnyDims() bool { return s.Kind == FeedForward || s.Kind == DCNv2 }

// Labels returns the number of labels that the network predicts: one a head.
func (s Spec) Labels() int { return max(len(s.Heads), 1) }

// Validate returns an error that names the path of the first field that is out
// of range.
func (s Spec) Validate() error {
	if err := s.validateHeads(); err != nil {
		return err
	}
	if err := s.validateWide(); err != nil {
		return err
	}
	switch s.Kind {
	case LogisticRegression:
		return nil
	case FactorizationMachine:
		return checkRange("factors", s.Factors, 1, embeddingDimMax)
	case DeepFM:
		return s.validateLayers()
	case DLRM:
		return s.validateLayers(stack{"bottom", s.Bottom})
	case DCNv2:
		if err := s.validateCross(); err != nil {
			return err
		}
		return s.validateLayers()
	case FeedForward:
		return s.validateLayers(
			stack{"sparse-tower.layers", s.SparseTower.widths()},
			stack{"dense-tower.layers", s.DenseTower.widths()})
	case Torch:
		return s.validateTorch()
	}
	return fmt.Errorf("kind = %q, want one of %s, or %s", s.Kind, strings.Join(Kinds(), ", "), Torch)
}

func (s Spec) validateTorch() error {
	if s.File == "" || s.Class == "" {
		return fmt.Errorf("kind = %s needs file and class: those of a subclass of torch.nn.Module", Torch)
	}
	if err := s.Traced.validate(); err != nil {
		return fmt.Errorf("traced.%w", err)
	}
	return checkRange("embedding-dim", s.EmbeddingDim, 1, embeddingDimMax)
}

// validateWide checks that wide slots are those of a network that has them, each once.
func (s Spec) validateWide() error {
	if len(s.Wide) > 0 && s.Kind != FactorizationMachine && s.Kind != DeepFM {
		return fmt.Errorf("wide: a %s has no wide slots: leave it out, or use kind: %s or %s", s.Kind,
			FactorizationMachine, DeepFM)
	}
	for i, name := range s.Wide {
		if slices.Contains(s.Wide[:i], name) {
			return fmt.Errorf("wide: it names the slot %q twice", name)
		}
	}
	return nil
}

func (s Spec) validateHeads() error {
	if len(s.Heads) > 1 && (s.Kind == FactorizationMachine || s.Kind == DeepFM) {
		return fmt.Errorf("heads: %d of a %s, which has one: use %s, %s or %s", len(s.Heads), s.Kind,
			FeedForward, DLRM, DCNv2)
	}
	if err := checkRange("the number of heads", len(s.Heads), 0, headsMax); err != nil {
		return err
	}
	if s.Loss != "" && s.Loss != SquaredLoss {
		return fmt.Errorf("loss = %q, want %s, or leave it out for cross-entropy", s.Loss, SquaredLoss)
	}
	for i, head := range s.Heads {
		if err := s.validateUnit(head); err != nil {
			return fmt.Errorf("heads[%d].%w", i, err)
		}
		if w := float32(head.Weight); !(w >= 0 && w-w == 0) || w == 0 && head.Weight > 0 {
			return fmt.Errorf("heads[%d].weight = %v, want a finite number above 0 in single precision, or "+
				"0 for 1", i, head.Weight)
		}
		if w := head.PositiveWeight; !(w >= 0 && w <= positiveWeightMax) || w > 0 && w < 1/positiveWeightMax {
			return fmt.Errorf("heads[%d].positive-weight = %v, want a number of [%g, %g], or 0 for 1", i, w,
				1/positiveWeightMax, positiveWeightMax)
		}
		if !(math.Abs(head.Bias) <= BiasMax) {
			return fmt.Errorf("heads[%d].bias = %v, want a number of [−%d, %d]", i, head.Bias, BiasMax,
				BiasMax)
		}
		if len(head.Layers) > 0 && s.Kind != FeedForward && s.Kind != DLRM && s.Kind != DCNv2 {
			return fmt.Errorf("heads[%d].layers: a head of %s has no hidden layers", i, s.Kind)
		}
	}
	return nil
}

// validateUnit checks what predicts numbers.
func (s Spec) validateUnit(head Head) error {
	scale, center := float32(head.Scale), float32(head.Center)
	switch {
	case s.Loss != SquaredLoss && (head.Center != 0 || head.Scale != 0):
		return fmt.Errorf("center, scale: need loss: %s, whose predictions are numbers", SquaredLoss)
	case s.Loss == SquaredLoss && head.PositiveWeight != 0 && head.PositiveWeight != 1:
		return fmt.Errorf("positive-weight = %v: labels that are numbers have no positive samples: leave it "+
			"out", head.PositiveWeight)
	case !(scale >= 0 && scale-scale == 0) || scale == 0 && head.Scale > 0:
		return fmt.Errorf("scale = %v, want a finite number above 0 in single precision, or 0 for 1",
			head.Scale)
	case center-center != 0:
		return fmt.Errorf("center = %v, want a finite number in single precision", head.Center)
	}
	return nil
}

// stack is hidden layers and the path of the field that gives their widths.
type stack struct {
	path   string
	widths []int
}

// validateLayers checks what all networks with hidden layers have, and further
// stacks.
func (s Spec) validateLayers(further ...stack) error {
	if err := checkRange("embedding-dim", s.EmbeddingDim, 1, embeddingDimMax); err != nil {
		return err
	}
	for i, head := range s.Heads {
		further = append(further, stack{fmt.Sprintf("heads[%d].layers", i), head.Layers})
	}
	for _, stack := range append(further, stack{"top", s.Top}) {
		if err := checkRange("the number of "+stack.path, len(stack.widths), 0, layersMax); err != nil {
			return err
		}
		for i, width := range stack.widths {
			if err := checkRange(fmt.Sprintf("%s[%d]", stack.path, i), width, 1, layerWidthMax); err != nil {
				return err
			}
		}
	}
	if s.Activation != ReLU && s.Activation != NoActivation {
		return fmt.Errorf("activation = %q, want %s or %s", s.Activation, ReLU, NoActivation)
	}
	return nil
}

func (s Spec) validateCross() error {
	if err := checkRange("cross-layers", s.CrossLayers, 1, crossLayersMax); err != nil {
		return err
	}
	if s.Structure != Stacked && s.Structure != Parallel {
		return fmt.Errorf("structure = %q, want %s or %s", s.Structure, Stacked, Parallel)
	}
	return checkRange("rank", s.Rank, 0, layerWidthMax)
}

// widths returns the layers of a tower that may be missing.
func (t *Tower) widths() []int {
	if t == nil {
		return nil
	}
	return t.Layers
}

func checkRange(path string, v, least, most int) error {
	if v < least || v > most {
		return fmt.Errorf("%s = %d, want %d to %d", path, v, least, most)
	}
	return nil
}
