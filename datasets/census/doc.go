// Package census estimates how many different ids a column has from a sample of its rows.
//
// A sample shows n draws and the number f_k of ids that occur k times in them. The ids that occur
// once or twice say what the sample cannot show:
//
//   - 1 − f₁/n estimates the coverage, the probability that the next draw is an id that the
//     sample holds (Good, Biometrika 40, 1953).
//   - f₁²/(2 f₂) estimates a lower bound for the number of ids that the sample does not hold
//     (Chao, Scandinavian Journal of Statistics 11, 1984). The bound is the number itself if all of
//     them are equally frequent.
//
// Most columns of click logs have a long tail, for which no sample bounds the number of ids from
// above. Estimate therefore says whether its number is an estimate or only a lower bound.
package census
