// Package staleness has the experiments on asynchrony, the claim on which Persia stands: that rows may be
// late.
//
//	staleness   what late rows cost in AUC, apart from the merging of gradients
//	phase       when asynchrony is safe: the cost by delay and by frequency of ids
//	theory      the delays at which training diverges, and the loss before it does, as calculated
//	hot-rows    how many frequent rows carry the cost
//	drift       what a model costs that is a day old, or older, where ids change
//	ages        what rows cost that expire, or that come with an id's n-th step, where ids change
//	source      which part may be late, rows or network; what an asynchronous mode loses by which of its
//	            properties; which number of a job predicts it
package staleness
