"""JobGraph → ExecutionGraph: subtasks, and which of them run and fail together."""
