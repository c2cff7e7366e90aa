// Package pytorch describes networks that Tandem and PyTorch both build, and starts PyTorch, for
// experiments that compare the two.
package pytorch

import (
	_ "embed" // of PyTorch's side
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// networks is PyTorch's side of a Network.
//
//go:embed networks.py
var networks string

// Network describes a network to both sides. Its embeddings are of one width, its hidden layers have ReLUs,
// and it has one logit.
type Network struct {
	Name    string `json:"name,omitempty" yaml:"name"` // in tables
	Kind    string `json:"kind" yaml:"kind"`
	Dim     int    `json:"dim" yaml:"embedding-dim"`
	Slots   int    `json:"slots" yaml:"slots"`     // embeddings of a sample
	Numeric int    `json:"numeric" yaml:"numeric"` // numbers of a sample
	Bottom  []int  `json:"bottom" yaml:"bottom,flow,omitempty"`
	Cross   int    `json:"cross,omitempty" yaml:"cross-layers,omitempty"`
	Top     []int  `json:"top" yaml:"top,flow"`
}

// criteo returns a network without layers, for data of Criteo's shape.
func criteo(name, kind string) *Network {
	return &Network{Name: name, Kind: kind, Dim: 16, Slots: 26, Numeric: 13}
}

// Tower returns the network of Persia's evaluation, for data of Criteo's shape.
//
// Source: model.PersiaTower.
func Tower() *Network {
	n := criteo("tower", model.FeedForward)
	n.Top = model.PersiaTower().Top
	return n
}

// DLRM returns the network of the Criteo Kaggle run by the authors of DLRM.
//
// Source: the code published with arXiv 1906.00091, its script for Criteo Kaggle.
func DLRM() *Network {
	n := criteo("DLRM", model.DLRM)
	n.Bottom, n.Top = []int{512, 256, 64}, []int{512, 256}
	return n
}

// DCNv2 returns the DCN-v2 of experiment generators, with cross layers beside hidden layers and the
// embeddings of the other networks.
func DCNv2() *Network {
	n := criteo("DCN-v2", model.DCNv2)
	n.Cross, n.Top = 3, []int{400, 400, 400}
	return n
}

// Spec returns the network as a model of Tandem.
func (n *Network) Spec() model.Spec {
	return model.Spec{Kind: n.Kind, EmbeddingDim: n.Dim, Bottom: n.Bottom, CrossLayers: n.Cross,
		Structure: model.Parallel, Top: n.Top, Activation: model.ReLU}
}

// Schema returns the input data of the network: slots with one pooled row each, and numbers.
func (n *Network) Schema() *batch.Schema {
	s := &batch.Schema{Labels: []string{"label"}, PrefixBits: 8}
	for i := range n.Slots {
		s.Slots = append(s.Slots, batch.Slot{Name: fmt.Sprintf("c%d", i+1), Dim: n.Dim})
	}
	for i := range n.Numeric {
		s.Dense = append(s.Dense, fmt.Sprintf("n%d", i+1))
	}
	return s
}
