"""Which regions run, restart, and may release their inputs: Flink's rules, over any scheduling topology."""
