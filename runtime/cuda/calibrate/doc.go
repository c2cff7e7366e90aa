// Package calibrate measures how fast a GPU does what training consists of: matrix products, streams through
// its memory, reads of rows at random places, copies from and to the host, and launches.
//
//	result, err := calibrate.Measure(driver, 0, calibrate.Settings{Budget: 30 * time.Second})
//
// The device measures the times, by events around a CUDA graph of many operations, so that the host's time
// for launching them does not count. An operation is repeated until its part of the budget is spent, at
// least 5 times; sizes that would take longer are left out, and the smallest of each kind is always measured.
//
// A Meter measures single operations, such as the products of one network.
package calibrate
