"""The program of a driver on another host, `driver_program.py <descriptor.json> …`: an archive has this package."""

import gc
import sys

if __name__ == "__main__":
    gc.disable()  # until all modules are loaded

from graph_compiler.spark_runtime.unzipped_pyspark import import_unzipped

import_unzipped()

from graph_compiler.spark_runtime.driver_process import begin_process, end_process
from graph_compiler.spark_runtime.main import main
from graph_compiler.spark_runtime.secret_values import take_secrets
from graph_compiler.staging.store.stores import open_on_driver

if __name__ == "__main__":
    begin_process()
    open_on_driver()
    take_secrets(sys.argv[1])
    end_process(main(*sys.argv[1:]))
