// Package fit calibrates the price list of system software to measured training steps.
//
// The ranges of a profile are the prior distribution: positions in them (param.Point) are uniform and
// independent. A measured step says how likely a point is: the logarithm of its predicted time divided by the
// measured one is normal with mean 0 and a standard deviation that stands for the repeatability of
// measurements and for the error of the model. The result, a Posterior, has points of the joint posterior
// distribution, which a profile stores as its Calibration.
//
// # Method
//
// Fit follows sequential Monte Carlo with tempering. Points of a Latin hypercube are weighted by the
// likelihood to a power below 1, such that half of them would remain, and resampled. Metropolis moves then
// spread the points again, and the power grows until it is 1. A move adds the difference of two other points
// (differential evolution), or draws some positions from the prior. Moves are reflected at the ends of the
// ranges.
//
// Quantities of the hardware are sampled too and then dropped, because they are not the system's. Measured
// steps on the same hardware share them. A quantity that changes no measured step keeps its prior.
//
// Sources: Del Moral, Doucet, Jasra, J. R. Stat. Soc. B 68 (2006) for tempering; ter Braak, Statistics and
// Computing 16 (2006) for differential evolution.
package fit
