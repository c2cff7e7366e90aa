package kernel

// PoolOf returns the pool that runs built-in products, for other work of the same
// caller, or nil if they have none.
func PoolOf(p Products) Pool {
	if built, ok := p.(*fused); ok {
		return built.pool
	}
	return nil
}
