// Package speed has the experiments that set Tandem beside the programs of others:
//
//	speed       sparse and dense steps and trainings on cores, beside PyTorch and FBGEMM
//	gpu         dense steps on a GPU, beside PyTorch and torch.compile
//	processes   what a training keeps of its rate in several processes
//	serving     predictions, beside onnxruntime
//	defaults    AUC at the defaults of cmd/train --data, beside scikit-learn
package speed
