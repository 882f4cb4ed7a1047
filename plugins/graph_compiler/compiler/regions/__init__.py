"""JobGraph → regions: Flink's pipelined regions, and the deployment regions that tasks are made of."""
