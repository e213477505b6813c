"""What a course needs: copies for students and instructors; python -m d2lmini.course."""
