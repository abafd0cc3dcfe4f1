# mypy: ignore-errors
"""Functions that only compiled ones call: they become part of their callers, and no machine code is made of them alone.

numba optimises every function, turns it into machine code, and then takes its intermediate code into each caller,
where it is optimised and turned into machine code again. For a function that Python never calls the first half is
wasted, which is a third of the time that a module of kernels takes to compile.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class LinkedLibrary(JITCodeLibrary):
    """Intermediate code to be taken into others, as far optimised as removing reference counts requires."""

    def _optimize_final_module(self):
        passes, builder = self._codegen._module_pass_manager(
            opt=0, loop_vectorize=False, slp_vectorize=False, cost="cheap"
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """Nowhere, as there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        """What numba hands the function's environment to, for machine code that would look for it."""
        return self

    def set_env(self, env_name, env):
        """Leave it to the caller: see `set_environments`."""


@register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(NativeLowering):
    """The pass that makes intermediate code, into a library of the kind above."""

    _name = "bestchannel_linked_lowering"

    def run_pass(self, state):
        """See numba."""
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().run_pass(state)


class LinkedCompiler(Compiler):
    """numba's compiler with that pass in the place of its own: an option `pipeline_class` of `numba.njit`."""

    def define_pipelines(self):
        """See numba."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (LinkedLowering if each is NativeLowering else each, why) for each, why in pipeline.passes
            ]
            pipeline._finalized = False
            pipeline.finalize()
        return pipelines


def linked(function: FunctionType, options: dict[str, Any]) -> Any:
    """The function in a form that compiled ones take in."""
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return without_literals(njit(**options, **wrappers, pipeline_class=LinkedCompiler)(function))


def without_literals(dispatcher: Any) -> Any:
    """The same, but compiled once for all integers: numba would do so for 0, for 1 and for others."""
    dispatcher.get_call_template = functools.partial(_general_template, dispatcher.get_call_template)
    return dispatcher


def _general_template(get_call_template, args, kws):
    general = {name: types.unliteral(each) for name, each in kws.items()}
    return get_call_template(tuple(types.unliteral(each) for each in args), general)


def set_environments(result: Any) -> None:
    """Tell machine code where the environments of all functions are that have become part of it."""
    for environment in result._find_referenced_environments():
        result.library.codegen.set_env(environment.env_name, environment)
