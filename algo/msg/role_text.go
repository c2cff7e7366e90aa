package msg

import (
	"fmt"
	"slices"
	"strings"
)

// roleKeys are the names of the roles in job files and on command lines.
var roleKeys = [roles]string{
	"data-loader", "embedding-worker", "embedding-ps", "nn-worker", "dense-ps", "coordinator",
}

// Key returns the name of the role in job files and on command lines, such as "embedding-worker".
func (r Role) Key() string { return roleKeys[r] }

// RoleCount is the number of roles.
const RoleCount = int(roles)

// Roles returns all roles, in their order.
func Roles() []Role {
	all := make([]Role, roles)
	for i := range all {
		all[i] = Role(i)
	}
	return all
}

// ParseRole returns the role with a key. The error lists the keys.
func ParseRole(key string) (Role, error) {
	i := slices.Index(roleKeys[:], key)
	if i < 0 {
		return 0, fmt.Errorf("unknown role %q; use one of %s", key, strings.Join(roleKeys[:], ", "))
	}
	return Role(i), nil
}

// UnmarshalText sets r to the role with a key.
func (r *Role) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRole(string(text))
	return err
}

// MarshalText returns the key of the role. The error is always nil.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.Key()), nil }
