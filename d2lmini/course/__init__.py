"""Tools for a course: copies for students and instructors, grading; python -m d2lmini.course."""
