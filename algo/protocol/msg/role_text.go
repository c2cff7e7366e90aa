package msg

import (
	"fmt"
	"slices"
	"strings"
)

// RoleCount is the number of roles.
const RoleCount = int(roles)

// Roles returns all roles in ascending order.
func Roles() []Role {
	all := make([]Role, roles)
	for i := range all {
		all[i] = Role(i)
	}
	return all
}

// ParseRole returns the role that String names so. The error lists all names.
func ParseRole(name string) (Role, error) {
	i := slices.Index(roleNames[:], name)
	if i < 0 {
		return 0, fmt.Errorf("unknown role %q; use one of %s", name, strings.Join(roleNames[:], ", "))
	}
	return Role(i), nil
}

// UnmarshalText sets r to the role that ParseRole returns.
func (r *Role) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRole(string(text))
	return err
}

// MarshalText returns the name of the role. The error is always nil.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
