// Package reread keeps what files say up to date while a program runs: certificates that are renewed, tokens
// that change. What the files said last stays as long as they cannot be used, as for a moment while they are
// being replaced.
package reread
