"""What is true of it everywhere: nothing here imports more than the standard library."""

from __future__ import annotations

from graph_compiler.extending.stores import PlaceInStore, Promises, StoreKind


def _why_no_box(place: PlaceInStore) -> str | None:
    if not place.authority.isalpha():
        return f"'{place.authority}' is not the name of a shelf"
    if not place.names or place.has_dots:
        return "it names no box"
    return None


BOX = StoreKind(
    scheme="box",
    form="box://shelf/box",
    promises=Promises(conditional_put=True, atomic_move=True, atomic_exchange=False),
    driver="acme_box.driver:boxes_at",
    airflow="acme_box.airflow:boxes_with",
    access="acme_box.airflow:BoxAccess",
    why_unfit=_why_no_box,
)
