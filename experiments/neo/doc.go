// Package neo has the experiments on the paper on Neo/ZionEX (Mudigere and others, ISCA 2022):
//
//	neo   of what its lead of 40 × over CPUs and parameter servers consists
package neo
