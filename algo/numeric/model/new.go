package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
)

// ErrSchema is wrapped by the errors of New about data that the network cannot
// take.
var ErrSchema = errors.New("the data do not suit the network")

// sumsOnly are the kinds that take no raw slots.
var sumsOnly = []string{FactorizationMachine, DeepFM, DLRM}

// New returns the built-in engine of the network that spec describes, for data
// of the given schema, which multiplies by products; nil stands for
// gemm.NewProducts(nil). It returns the error of Validate, or one that wraps
// ErrSchema if labels and heads differ in number, if a slot's row length is not
// spec.Dim() unless spec.AnyDims(), if a slot is raw and the kind is fm, deepfm or
// dlrm, if the data lack what a part of the network takes as input, or if the network
// has more than 2³¹−1 parameters.
func New(spec Spec, schema *batch.Schema, products gemm.Products) (Engine, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if spec.Kind == Torch {
		return nil, fmt.Errorf("model.kind = %s: only PyTorch knows the network. cmd/train, cmd/node, "+
			"cmd/serve and cmd/model run it; the job.yaml of its results can be simulated", Torch)
	}
	if products == nil {
		products = gemm.NewProducts(nil)
	}
	if labels := len(schema.Labels); labels != spec.Labels() {
		return nil, fmt.Errorf("model: %w: there are %d labels (%s) and %d heads: give the model one head "+
			"for each label",
			ErrSchema, labels, strings.Join(schema.Labels, ", "), spec.Labels())
	}
	for _, slot := range schema.Slots {
		if slot.Dim != spec.Dim() && !spec.AnyDims() {
			return nil, fmt.Errorf("model: %w: slot %q has rows of %d values, %s wants %d",
				ErrSchema, slot.Name, slot.Dim, spec.Kind, spec.Dim())
		}
		if slot.Pooling == batch.Raw && slices.Contains(sumsOnly, spec.Kind) {
			return nil, fmt.Errorf("model: %w: slot %q is raw, %s takes summed slots only:"+
				" leave raw out of the slot or use %s", ErrSchema, slot.Name, spec.Kind, FeedForward)
		}
	}
	if err := spec.checkWide(schema); err != nil {
		return nil, err
	}
	if schema.EmbeddingWidth()+len(schema.Dense) == 0 {
		return nil, fmt.Errorf("model: %w: there is neither a slot nor a numeric feature", ErrSchema)
	}
	e, err := build(spec, schema, products)
	if err == nil && e.Layout().Params > paramsMax {
		return nil, fmt.Errorf("model: %w: the network has %d parameters, want at most %d: "+
			"use narrower layers or fewer columns",
			ErrSchema, e.Layout().Params, paramsMax)
	}
	return e, err
}

// wideSlots returns the numbers of the slots that Wide names.
func (s *Spec) wideSlots(schema *batch.Schema) (all []int) {
	for i, slot := range schema.Slots {
		if slices.Contains(s.Wide, slot.Name) {
			all = append(all, i)
		}
	}
	return all
}

// checkWide returns an error if a network that has wide slots cannot have those of the spec.
func (s *Spec) checkWide(schema *batch.Schema) error {
	for _, name := range s.Wide {
		if !slices.ContainsFunc(schema.Slots, func(slot batch.Slot) bool { return slot.Name == name }) {
			return fmt.Errorf("model: %w: wide: there is no slot %q", ErrSchema, name)
		}
	}
	if n := len(s.wideSlots(schema)); n > 0 && n == len(schema.Slots) && len(schema.Dense) == 0 {
		return fmt.Errorf("model: %w: wide: it names all %d slots, and there is no numeric feature: leave "+
			"one out", ErrSchema, n)
	}
	return nil
}

// build returns the network of a spec and a schema that suit each other, before its parameters are made.
func build(spec Spec, schema *batch.Schema, products gemm.Products) (Engine, error) {
	switch spec.Kind {
	case LogisticRegression:
		return newLogistic(spec, schema, products), nil
	case FactorizationMachine:
		return newFactorization(spec, schema, products), nil
	case DeepFM:
		return newDeepFM(spec, schema, products), nil
	case DLRM:
		return newDLRM(spec, schema, products)
	case DCNv2:
		return newDCNv2(spec, schema, products), nil
	}
	return newFeedForward(spec, schema, products)
}
