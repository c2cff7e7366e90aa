package job

// formerKeyer is implemented by sections of the job file that once had other keys.
type formerKeyer interface {
	// formerKey returns where a former key of the section has moved to; "" for any other key.
	formerKey(key string) string
}

// formerKey implements formerKeyer.
func (*Training) formerKey(key string) string {
	switch key {
	case "slack":
		return "training.mode-settings: {slack: ...}"
	case "average-every":
		return "training.mode-settings: {every: ...}"
	case "model":
		return "a section of its own, model"
	case "faults":
		return "a section of its own, faults"
	case "wire":
		return "wire.precision"
	case "dense-optimizer":
		return "model.optimizer"
	case "dense-precision":
		return "model.precision"
	case "row-optimizer":
		return "rows.optimizer"
	case "row-init":
		return "rows.init"
	case "row-admission":
		return "rows.admission"
	case "row-capacity":
		return "rows.capacity"
	case "row-memory":
		return "rows.memory"
	case "row-eviction":
		return "rows.eviction"
	case "row-precision":
		return "rows.precision"
	case "ranks":
		return "roles.ranks"
	case "embedding-workers":
		return "roles.embedding-workers"
	case "parameter-servers":
		return "roles.embedding-ps"
	case "dense-servers":
		return "roles.dense-ps"
	case "placement":
		return "roles.placement"
	case "index":
		return "wire.index"
	case "retry":
		return "wire.retry"
	}
	return ""
}
