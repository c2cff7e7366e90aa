package cost

import (
	"tandem/sim/device"
	"tandem/sim/system"
)

// Service is how an instance of a role serves requests.
type Service struct {
	// Threads is the number of pieces of work of one lane (role.WorkKind.Lane) that are in service at once;
	// at least 1. Their results take effect in the order of their issue.
	Threads int
	// AllCores says that Threads is the instance's share of the cores of its host, and grows with them.
	AllCores bool
	// Width is the number of cores that can share one piece of work; at least 1.
	Width int
	// Jitter is the σ of the lognormal factor on each piece of work.
	Jitter float64
}

// service returns the service of each of a number of equal instances on a host. A system that does not say
// how many threads an instance has gives it its share of the cores.
func service(s *system.Service, h *device.Host, instances int) Service {
	threads := s.Threads.Mid
	if threads == 0 {
		threads = h.Cores / max(1, instances)
	}
	return Service{Threads: max(1, threads), AllCores: s.Threads.Mid == 0, Width: max(1, s.Width.Mid),
		Jitter: float64(s.Jitter.Mid)}
}
