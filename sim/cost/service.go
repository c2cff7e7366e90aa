package cost

// Service is how an instance of a role serves requests.
type Service struct {
	// Threads is the number of pieces of work of one lane (role.WorkKind.Lane) that are in service at once;
	// at least 1. Their results take effect in the order of their issue.
	Threads int
	// Width is the number of cores that can share one piece of work; at least 1.
	Width int
}
