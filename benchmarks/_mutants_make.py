"""Mutants of a Python file: the same code with one small mistake in a function.

`places` numbers the mistakes that are possible in a source, `mutant` makes one of them. What could not
change behaviour (docstrings, annotations, logging, assertions, text) is left alone.
"""

import ast
from typing import NamedTuple

_SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_LOGGERS = ("log", "logging", "warnings")


class Place(NamedTuple):
    line: int
    before: str
    after: str


def places(source: str) -> list[Place]:
    """Every mistake that `mutant` can make, in its numbering."""
    mutator = _Mutator(None)
    mutator.visit(ast.parse(source))
    return mutator.places


def mutant(source: str, number: int) -> ast.Module:
    """The source with one mistake, all else in the places where it was."""
    tree = ast.parse(source)
    _Mutator(number).visit(tree)
    return ast.fix_missing_locations(tree)


class _Mutator(ast.NodeTransformer):
    def __init__(self, number: int | None) -> None:
        self.places: list[Place] = []
        self._number = number
        self._depth = 0
        self._constructs = False

    def _offer(self, node: ast.AST, changed: ast.AST) -> ast.AST:
        """The node, or what is to stand in its place if this is the mistake that is wanted."""
        here = len(self.places)
        line = getattr(node, "lineno", 0)
        self.places.append(Place(line, _text(node), _text(changed)))
        return ast.copy_location(changed, node) if here == self._number else node

    # Where mistakes can be

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        """Its body only: not its annotations, defaults and decorators."""
        outer, self._constructs = self._constructs, node.name == "__init__"
        self._depth += 1
        node.body = [self.visit(each) for each in node.body]
        self._depth -= 1
        self._constructs = outer
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        # `strict` is an assertion.
        return node if node.arg == "strict" else self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    # Mistakes

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if not self._depth or len(node.ops) > 1:
            return node
        swapped = _SWAPPED[type(node.ops[0])]()
        return self._offer(node, ast.Compare(node.left, [swapped], node.comparators))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return self._offer(node, ast.BoolOp(other, node.values)) if self._depth else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._offer(node, node.operand) if self._depth and isinstance(node.op, ast.Not) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not self._depth or not isinstance(node.op, ast.Add | ast.Sub):
            return node
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        return self._offer(node, ast.BinOp(node.left, other, node.right))

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not self._depth:
            return node
        if isinstance(node.value, bool):
            return self._offer(node, ast.Constant(not node.value))
        return self._offer(node, ast.Constant(node.value + 1)) if isinstance(node.value, int) else node

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._negated(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._negated(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._negated(node)

    def _negated(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        # `not` and comparisons have mistakes of their own that come to the same.
        if self._depth and not isinstance(node.test, ast.Compare | ast.UnaryOp | ast.Constant):
            node.test = self._offer(node.test, ast.UnaryOp(ast.Not(), node.test))  # type: ignore[assignment]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if not isinstance(node.value, ast.Call) or _text(node.value).split(".")[0] in _LOGGERS:
            return self.generic_visit(node) if not isinstance(node.value, ast.Constant) else node
        self.generic_visit(node)
        return self._dropped(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        node.value = self.visit(node.value)
        # A local name, or an attribute that the constructor sets, is missed at once.
        stays = isinstance(node.targets[0], ast.Attribute | ast.Subscript) and not self._constructs
        return self._dropped(node) if stays else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        node.value = self.visit(node.value)
        return self._dropped(node)

    def visit_Delete(self, node: ast.Delete) -> ast.AST:
        return self._dropped(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return self._dropped(node)

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return self._dropped(node)

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return self._dropped(node)

    def _dropped(self, node: ast.stmt) -> ast.AST:
        # Not `pass`: a function that no longer names `super` or a variable around it is of another shape, and
        # cannot be exchanged for the original.
        return self._offer(node, ast.If(ast.Constant(False), [node], [])) if self._depth else node


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())
