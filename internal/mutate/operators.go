package mutate

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// The operators.
const (
	dropFactor = "drop-factor" // x*y and x/y become x; x *= y is deleted
	offByOne   = "off-by-one"  // 1 is added to a literal, a length or the limit of a slice
	// a rank where a step belongs, a step where a rank belongs, or both
	swapRankStep     = "swap-rank-step"
	removeRelease    = "remove-release"    // a statement that releases is deleted
	changeComparison = "change-comparison" // < and <=, > and >=, == and != take each other's place
	deleteCall       = "delete-call"       // a call that stands alone is deleted
	negateCondition  = "negate-condition"  // the condition of an if or for is negated
)

// operators are all operators, in the order in which the draw takes turns.
func operators() []string {
	return []string{dropFactor, offByOne, swapRankStep, removeRelease, changeComparison, deleteCall,
		negateCondition}
}

// releasing matches names of functions that release what their caller held.
var releasing = regexp.MustCompile(`(?i)^(release|recycle|free|discard|drop|forget|` +
	`close|delete|remove|unlock|stop|done$)`)

// exemptions returns the nodes in which no mutant is made:
//   - what fmt, errors.New and panic print, because a text for people has no one right form;
//   - the capacity given to make, which changes speed alone;
//   - declarations with iota, whose values are only names.
func exemptions(syntax *ast.File) []ast.Node {
	var exempt []ast.Node
	ast.Inspect(syntax, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CallExpr:
			exempt = append(exempt, exemptArguments(n)...)
		case *ast.GenDecl:
			if n.Tok == token.CONST && mentions(n, "iota") {
				exempt = append(exempt, n)
			}
		case *ast.ImportSpec:
			exempt = append(exempt, n)
		}
		return true
	})
	return exempt
}

// exemptArguments returns the arguments of a call that are exempt.
func exemptArguments(call *ast.CallExpr) []ast.Node {
	name := callee(call.Fun)
	if base, ok := qualifier(call.Fun); name == "panic" || ok &&
		(base == "fmt" || base == "errors" && name == "New") {
		exempt := make([]ast.Node, len(call.Args))
		for i, argument := range call.Args {
			exempt[i] = argument
		}
		return exempt
	}
	if name != "make" || len(call.Args) < 2 {
		return nil
	}
	if _, ok := call.Args[0].(*ast.MapType); ok {
		return []ast.Node{call.Args[1]}
	}
	if len(call.Args) == 3 {
		return []ast.Node{call.Args[2]}
	}
	return nil
}

// exempted reports whether no mutant is made in a node.
func (s *source) exempted(node ast.Node) bool {
	for _, e := range s.exempt {
		if e.Pos() <= node.Pos() && node.End() <= e.End() {
			return true
		}
	}
	return false
}

// mutate adds the mutants of one node, without those of the nodes in it.
func (s *source) mutate(node ast.Node) {
	switch n := node.(type) {
	case *ast.BinaryExpr:
		s.mutateBinary(n)
	case *ast.AssignStmt:
		s.mutateAssignment(n)
	case *ast.BasicLit:
		if n.Kind == token.INT {
			s.replace(offByOne, n.Pos(), n.End(), "("+n.Value+" + 1)")
		}
	case *ast.SliceExpr:
		s.addOne(n.Low)
		s.addOne(n.High)
	case *ast.CallExpr:
		if name := callee(n.Fun); name == "len" {
			s.replace(offByOne, n.Pos(), n.End(), "("+s.of(n)+" + 1)")
		}
		s.swapPair(n.Args)
	case *ast.CompositeLit:
		s.swapPair(n.Elts)
	case *ast.SelectorExpr:
		s.swapField(n.Sel)
	case *ast.IfStmt:
		s.replace(negateCondition, n.Cond.Pos(), n.Cond.End(), "!("+s.of(n.Cond)+")")
	case *ast.ForStmt:
		if n.Cond != nil {
			s.replace(negateCondition, n.Cond.Pos(), n.Cond.End(), "!("+s.of(n.Cond)+")")
		}
	case *ast.IncDecStmt:
		if _, local := n.X.(*ast.Ident); n.Tok == token.DEC && !local {
			s.replace(removeRelease, n.Pos(), n.End(), "")
		}
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok {
			s.deleteCall(n, call)
		}
	case *ast.DeferStmt:
		if releasing.MatchString(callee(n.Call.Fun)) {
			s.replace(removeRelease, n.Pos(), n.End(), "")
		}
	}
}

// mutateBinary adds the mutants of an operation with two operands.
func (s *source) mutateBinary(n *ast.BinaryExpr) {
	other := map[token.Token]string{
		token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	}
	switch n.Op {
	case token.MUL, token.QUO:
		s.replace(dropFactor, n.X.End(), n.Y.End(), "")
	case token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ:
		s.replace(changeComparison, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other[n.Op])
	}
}

// mutateAssignment adds the mutants of an assignment: x *= y loses its factor,
// and what sets a field to nil releases what the field held.
func (s *source) mutateAssignment(n *ast.AssignStmt) {
	if n.Tok == token.MUL_ASSIGN || n.Tok == token.QUO_ASSIGN {
		s.replace(dropFactor, n.Pos(), n.End(), "")
	}
	if n.Tok != token.ASSIGN {
		return
	}
	for _, value := range n.Rhs {
		if name, ok := value.(*ast.Ident); !ok || name.Name != "nil" {
			return
		}
	}
	for _, variable := range n.Lhs {
		if _, local := variable.(*ast.Ident); local {
			return
		}
	}
	s.replace(removeRelease, n.Pos(), n.End(), "")
}

// addOne adds 1 to the limit of a slice, unless that is a literal or a length,
// which have a mutant of their own.
func (s *source) addOne(limit ast.Expr) {
	switch n := limit.(type) {
	case nil, *ast.BasicLit:
		return
	case *ast.CallExpr:
		if callee(n.Fun) == "len" {
			return
		}
	}
	s.replace(offByOne, limit.Pos(), limit.End(), s.of(limit)+" + 1")
}

// deleteCall adds the mutant without a call that stands alone. A panic stays:
// without it, only a caller's mistake would behave differently.
func (s *source) deleteCall(n *ast.ExprStmt, call *ast.CallExpr) {
	name := callee(call.Fun)
	switch {
	case name == "panic":
	case releasing.MatchString(name):
		s.replace(removeRelease, n.Pos(), n.End(), "")
	default:
		s.replace(deleteCall, n.Pos(), n.End(), "")
	}
}

// swapPair exchanges the first rank and the first step among arguments or
// elements of a literal.
func (s *source) swapPair(list []ast.Expr) {
	var rank, step ast.Expr
	for _, e := range list {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		switch strings.ToLower(lastName(e)) {
		case "rank":
			if rank == nil {
				rank = e
			}
		case "step":
			if step == nil {
				step = e
			}
		}
	}
	if rank == nil || step == nil {
		return
	}
	first, second := rank, step
	if second.Pos() < first.Pos() {
		first, second = second, first
	}
	between := string(s.text[s.offset(first.End()):s.offset(second.Pos())])
	s.replace(swapRankStep, first.Pos(), second.End(), s.of(second)+between+s.of(first))
}

// swapField reads the step instead of the rank, or the rank instead of the step.
func (s *source) swapField(name *ast.Ident) {
	other := map[string]string{"rank": "step", "step": "rank", "Rank": "Step", "Step": "Rank"}[name.Name]
	if other != "" {
		s.replace(swapRankStep, name.Pos(), name.End(), other)
	}
}

// callee returns the last name of a called function, or "".
func callee(function ast.Expr) string {
	switch f := function.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// qualifier returns x of x.f, where x is a name.
func qualifier(function ast.Expr) (string, bool) {
	selector, ok := function.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	base, ok := selector.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return base.Name, true
}

// lastName returns the name of a variable or field, also inside a conversion,
// or "".
func lastName(e ast.Expr) string {
	switch n := e.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		return n.Sel.Name
	case *ast.CallExpr:
		if _, conversion := n.Fun.(*ast.Ident); conversion && len(n.Args) == 1 {
			return lastName(n.Args[0])
		}
	}
	return ""
}

// mentions reports whether a name occurs in a node.
func mentions(node ast.Node, name string) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		if identifier, ok := n.(*ast.Ident); ok && identifier.Name == name {
			found = true
		}
		return !found
	})
	return found
}
