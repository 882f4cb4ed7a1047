"""Which regions run, run again, and may release their inputs: Flink's rules, for any scheduling topology."""
