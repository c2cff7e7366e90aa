// Package persia has the experiments on the paper on Persia (Lian and others, KDD 2022):
//
//	scalability   its figures of throughput: four systems on 1 to 8 GPUs, Kwai's video model on 8 to 64,
//	              models of up to 100 trillion parameters; what the leads over its rivals consist of
//	auc-table     its table of AUC: what each mode gains or loses against sync, at rates tuned for it
//	convergence   its figure of convergence: hybrid beside sync over a run of the paper's length
//	time-to-auc   its time to a target AUC, and the dollars
//	gantt         its diagram of what overlaps in sync, async and hybrid
//	ablation      its optimisations, one by one: what each gains, and what the lossy ones cost
package persia
