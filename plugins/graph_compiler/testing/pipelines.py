"""Pipelines by their name or file, for tests."""

from __future__ import annotations

from graph_compiler.projects import pipeline_files
from graph_compiler.testing.hidden_frames import hides_frames

load_pipeline = hides_frames(pipeline_files.load_pipeline)
