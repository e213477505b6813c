"""Properties of a right block, the grading of answers, and the bugs of the museum."""
