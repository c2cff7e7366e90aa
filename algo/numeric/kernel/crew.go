package kernel

// CrewOf returns the crew that shares built-in products, for other work between
// them; nil if there is none.
func CrewOf(p Products) Crew {
	if built, ok := p.(*fused); ok {
		return built.crew
	}
	return nil
}
