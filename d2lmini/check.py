"""Properties and exercises, under the name by which chapters call them; see checking/."""

from d2lmini.checking.answers import picture
from d2lmini.checking.comparisons import incremental, matches, weights_explain_output
from d2lmini.checking.gradients import every_parameter_trained, finite_gradients
from d2lmini.checking.properties import (
    as_block,
    batch_independent,
    causal,
    padding_invariant,
    permutation_equivariant,
    repetition_invariant,
    rows_sum_to_one,
    sees_what_it_may,
)
from d2lmini.checking.records import exercise, hint, mystery, report
from d2lmini.checking.trying import TOLERANCE, Result
