"""Properties and exercises, under the name by which chapters call them; see checking/."""

from d2lmini.checking.grading import exercise, hint, report
from d2lmini.checking.properties import (
    TOLERANCE,
    Result,
    as_block,
    batch_independent,
    causal,
    every_parameter_trained,
    finite_gradients,
    matches,
    padding_invariant,
    permutation_equivariant,
    rows_sum_to_one,
)
