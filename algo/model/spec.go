package model

import "fmt"

// Kinds of networks.
const (
	LogisticRegression   = "logistic-regression"
	FactorizationMachine = "fm"
	FeedForward          = "feed-forward"
)

// Activations of a feed-forward network.
const (
	ReLU         = "relu"
	NoActivation = "none"
)

// Wider layers and longer rows are taken for a mistake.
const (
	layerWidthMax   = 1 << 20
	embeddingDimMax = 1 << 16
)

// Spec describes a network. Fields that its kind does not use are ignored, so
// that a job may change the kind alone.
type Spec struct {
	// Kind is logistic-regression, fm or feed-forward.
	Kind string `yaml:"kind"`
	// EmbeddingDim is the length of an embedding row of a feed-forward network.
	EmbeddingDim int `yaml:"embedding-dim"`
	// Factors is the length of a factor vector of an fm; a row has one value more.
	Factors int `yaml:"factors"`
	// SparseTower and DenseTower are the layers that the pooled embeddings and the
	// numeric features of a feed-forward network pass before they are joined; nil
	// or without layers passes them on as they are.
	SparseTower *Tower `yaml:"sparse-tower"`
	DenseTower  *Tower `yaml:"dense-tower"`
	// Top are the widths of the hidden layers of a feed-forward network after the
	// join; a last linear layer to one logit follows them.
	Top []int `yaml:"top"`
	// Activation follows every hidden layer of a feed-forward network, towers
	// included, after its batch norm if it has one: relu or none.
	Activation string `yaml:"activation"`
	// BatchNorm puts a batch norm behind every hidden layer of Top.
	BatchNorm bool `yaml:"batch-norm"`
}

// Tower is a stack of hidden layers over one kind of input.
type Tower struct {
	// Layers are the widths of the layers, from the input on.
	Layers []int `yaml:"layers"`
	// BatchNorm puts a batch norm behind every layer.
	BatchNorm bool `yaml:"batch-norm"`
}

// Default is the network used outside throughput studies: 16 values a row, top
// 256-128, relu. Factors are 8, for a job that changes only the kind to fm.
func Default() Spec {
	return Spec{Kind: FeedForward, EmbeddingDim: 16, Factors: 8, Top: []int{256, 128}, Activation: ReLU}
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

// Dim returns the row length that the network wants of every slot: EmbeddingDim,
// 1 for logistic-regression, Factors+1 for fm.
func (s Spec) Dim() int {
	switch s.Kind {
	case LogisticRegression:
		return 1
	case FactorizationMachine:
		return s.Factors + 1
	}
	return s.EmbeddingDim
}

// Validate returns an error that names the path of the first field that is out
// of range.
func (s Spec) Validate() error {
	switch s.Kind {
	case LogisticRegression:
		return nil
	case FactorizationMachine:
		return checkRange("factors", s.Factors, embeddingDimMax)
	case FeedForward:
		return s.validateFeedForward()
	}
	return fmt.Errorf("kind = %q, want %s, %s or %s", s.Kind, LogisticRegression, FactorizationMachine, FeedForward)
}

func (s Spec) validateFeedForward() error {
	if err := checkRange("embedding-dim", s.EmbeddingDim, embeddingDimMax); err != nil {
		return err
	}
	for _, stack := range []struct {
		path   string
		widths []int
	}{
		{"sparse-tower.layers", s.SparseTower.widths()},
		{"dense-tower.layers", s.DenseTower.widths()},
		{"top", s.Top},
	} {
		for i, width := range stack.widths {
			if err := checkRange(fmt.Sprintf("%s[%d]", stack.path, i), width, layerWidthMax); err != nil {
				return err
			}
		}
	}
	if s.Activation != ReLU && s.Activation != NoActivation {
		return fmt.Errorf("activation = %q, want %s or %s", s.Activation, ReLU, NoActivation)
	}
	return nil
}

// widths returns the layers of a tower that may be missing.
func (t *Tower) widths() []int {
	if t == nil {
		return nil
	}
	return t.Layers
}

func checkRange(path string, v, most int) error {
	if v < 1 || v > most {
		return fmt.Errorf("%s = %d, want 1 to %d", path, v, most)
	}
	return nil
}
