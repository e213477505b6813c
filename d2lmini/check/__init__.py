"""Properties and exercises, for use in chapters."""

from d2lmini.check.answers import picture
from d2lmini.check.comparisons import incremental, matches, weights_explain_output
from d2lmini.check.doctor import attention, language_model, translator
from d2lmini.check.gradients import every_parameter_trained, finite_gradients
from d2lmini.check.properties import (
    as_block,
    batch_independent,
    causal,
    padding_invariant,
    permutation_equivariant,
    repetition_invariant,
    rows_sum_to_one,
    sees_what_it_may,
)
from d2lmini.check.records import exercise, hint, mystery, report
from d2lmini.check.trying import TOLERANCE, Result
