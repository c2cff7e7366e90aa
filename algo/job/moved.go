package job

// formerKeyer is implemented by sections of the job file that once had other keys.
type formerKeyer interface {
	// formerKey returns where a former key of the section has moved to; "" for any other key.
	formerKey(key string) string
}

// formerKey implements formerKeyer.
func (*Training) formerKey(key string) string { return formerTrainingKeys()[key] }

// formerKey implements formerKeyer.
func (*Cluster) formerKey(key string) string {
	switch key {
	case "parameter-servers":
		return "cluster.embedding-ps"
	case "software":
		return "cluster.system, the profile of the system software, and cluster.set"
	}
	return ""
}

// formerTrainingKeys are the former keys of the section training.
func formerTrainingKeys() map[string]string {
	return map[string]string{
		"slack":             "training.mode-settings: {slack: ...}",
		"average-every":     "training.mode-settings: {every: ...}",
		"model":             "a section of its own, model",
		"dense-optimizer":   "model.optimizer",
		"dense-precision":   "model.precision",
		"row-optimizer":     "rows.optimizer",
		"row-init":          "rows.init",
		"row-admission":     "rows.admission",
		"row-capacity":      "rows.capacity",
		"row-memory":        "rows.memory",
		"row-eviction":      "rows.eviction",
		"row-precision":     "rows.precision",
		"ranks":             "roles.ranks",
		"embedding-workers": "roles.embedding-workers",
		"parameter-servers": "roles.embedding-ps",
		"dense-servers":     "roles.dense-ps",
		"placement":         "roles.placement",
		"wire":              "wire.precision",
		"index":             "wire.index",
		"retry":             "wire.retry",
		"faults":            "a section of its own, faults",
	}
}
