"""What help() says: every public callable has type hints, every forward its shapes."""

import importlib
import inspect
import pkgutil

from conftest import for_each

import d2lmini

FOUND = pkgutil.iter_modules(d2lmini.__path__)
NAMES = [f"d2lmini.{module.name}" for module in FOUND if not module.ispkg]
NAMED = {"forward", "__init__"}


def public_callables():
    """(name, function) of public functions, and of the public methods of public classes."""
    for module in map(importlib.import_module, NAMES):
        for name, found in vars(module).items():
            home = getattr(found, "__module__", "")
            if name.startswith("_") or home != module.__name__:
                continue
            if inspect.isfunction(found):
                yield f"{module.__name__}.{name}", found
            if inspect.isclass(found):
                for method, value in vars(found).items():
                    value = getattr(value, "fget", getattr(value, "__func__", value))
                    is_public = method in NAMED or not method.startswith("_")
                    if inspect.isfunction(value) and is_public:
                        yield f"{module.__name__}.{name}.{method}", value


CALLABLES = dict(public_callables())
FORWARDS = [name for name in CALLABLES if name.endswith(".forward")]


@for_each(CALLABLES)
def test_a_public_callable_has_hints(name):
    signature = inspect.signature(CALLABLES[name])
    without = [
        p.name
        for p in signature.parameters.values()
        if p.annotation is inspect.Parameter.empty
        and p.name != "self"
        and p.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    if not name.endswith("__init__") and signature.return_annotation is signature.empty:
        without.append("return")
    assert not without


@for_each(FORWARDS)
def test_a_forward_tells_its_shapes(name):
    told = CALLABLES[name].__doc__ or ""
    assert "(batch, " in told or "(..., " in told


def test_they_are_found():
    assert len(CALLABLES) > 60 and len(FORWARDS) > 15
