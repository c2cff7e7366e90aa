// Package collective sums vectors in a fixed binary tree, so that the bits of a sum over
// ranks do not depend on the number of ranks.
//
// A global batch is cut into V groups, V a power of two. Every sum over groups follows
// one binary tree over the group numbers. A rank that owns neighbouring groups sums its
// subtree, and the sums of the ranks are the leaves of the rest of the tree. So the
// result has the same bits for every number of ranks that divides V.
//
// Any other number of leaves follows the tree over the next power of two, whose last
// leaves are absent: processes with 2ᵏ neighbouring leaves each, the last one perhaps
// fewer, still own one branch each.
//
// # Why sync equals sequential bit for bit
//
// Both cut a global batch into V groups, and take sums over groups along the tree: sums of dense gradients,
// and sums of each row's gradients. N ranks only cut the tree at another height. That is why N must divide V
// in sync. In other modes a rank has as many groups as the largest power of two up to V/N, and at least one.
//
// A sum is divided by the number of samples once, after the tree. The products of package gemm do the rest:
// every element is one chain of fused multiply-adds in ascending order, for any alignment, any other rows,
// and any number of goroutines.
package collective
