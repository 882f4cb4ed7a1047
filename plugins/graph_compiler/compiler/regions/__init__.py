"""JobGraph → regions: Flink's pipelined regions, and the deployment regions, which become tasks."""
