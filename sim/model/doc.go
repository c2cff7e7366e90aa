// Package model describes recommender models for simulation: the tables of embedding rows, the popularity of
// their ids, and the dense network as a list of matrix products. It holds no weights.
//
// A model is a YAML profile. Facts that are published are plain numbers. What is not published is a Number
// with a range, which becomes a parameter of the simulation like those of hardware: see package param.
package model
