"""Execution targets of other packages: clusters that spark-submit submits to (docs/targets.md)."""

from graph_compiler.deployment.targets.execution_target import DriverPlace, ExecutionTarget, SecretWay

__all__ = ["DriverPlace", "ExecutionTarget", "SecretWay"]
