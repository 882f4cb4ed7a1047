"""Find the problems of a declaration before anything is translated."""
