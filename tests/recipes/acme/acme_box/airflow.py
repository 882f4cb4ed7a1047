"""How Airflow's side reaches it: an Airflow connection names the folder of all shelves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from acme_box.boxes import Boxes
from graph_compiler.extending.stores import StoreAccess, StoreConnection

_FILES = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxAccess(StoreAccess):
    """The folder of all shelves, and the boxes that Spark sees."""

    folder: str = "/nowhere"
    boxes: tuple[str, ...] = ()

    @classmethod
    def of(cls, connection: StoreConnection) -> Self:
        return cls(folder=connection.extra["folder"], boxes=tuple(connection.extra["boxes"]))

    def spark_settings(self) -> dict[str, str]:
        links = {
            f"spark.hadoop.fs.viewfs.mounttable.{shelf}.link./{box}": f"file://{self.folder}/{shelf}/{box}"
            for shelf, box in (each.split("/") for each in self.boxes)
        }
        return links | {
            "spark.hadoop.fs.box.impl": _FILES,
            "spark.hadoop.fs.viewfs.overload.scheme.target.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
        }

    def environment(self) -> dict[str, str]:
        return {"ACME_BOX": self.folder}


def boxes_with(shelf: str, access: BoxAccess) -> Boxes:  # one folder has all shelves
    """Return the store of a shelf."""
    return Boxes(access.folder)
