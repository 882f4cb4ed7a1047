"""Which regions run, run again, and may have their inputs released: Flink's answers, over any scheduling topology."""
