"""The encoder of a column of vectors: recorded in the schema of a table, and recognised later by its vectors."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from densray._vocabulary import unit_rows
from densray.errors import Advice, Argument, TableError

if TYPE_CHECKING:
    import pyarrow as pa

#: Texts whose vectors identify an encoder, too short to be truncated, and the number of coordinates stored of each.
SAMPLED_TEXTS = ("The law", "good day", "42, 7", "über")
SAMPLED_COORDINATES = 8
#: Tolerance for a coordinate of a unit vector: half precision and other devices stay below it.
SAMPLE_TOLERANCE = 2e-3
_KEY = b"densray:encoders"


@dataclass(frozen=True)
class EncoderRecord:
    """Name and settings of an encoder, and a sample of its vectors: enough to recognise it.

    Attributes
    ----------
    name : str
        Name of the model, of its folder, or of the class of the encoder.
    source : str
        The name or folder it was loaded from; empty for an object.
    library : str
        Package of the encoder and its version.
    pooling : str
        How token vectors are pooled into one vector; empty if it is not known.
    normalized : bool
        Whether its vectors have unit length.
    max_length : int or None
        Maximum number of tokens per text, if it is known.
    width : int
    sample : tuple of tuples of float
        First coordinates of the unit-length vectors of four fixed texts.
    """

    name: str
    source: str
    library: str
    pooling: str
    normalized: bool
    max_length: int | None
    width: int
    sample: tuple[tuple[float, ...], ...]

    def matches(self, other: EncoderRecord) -> bool:
        """Return whether both give the same vectors, up to their length and rounding; names are not compared."""
        ours, theirs = (np.array(each.sample) for each in (self, other))
        if self.width != other.width or ours.shape != theirs.shape:
            return False
        return bool(np.abs(ours - theirs).max() <= SAMPLE_TOLERANCE)

    def check_matches(self, other: EncoderRecord | None, what: str, where: str) -> None:
        """Raise if a table has vectors of another encoder than `what`, an axis or an erasure, needs.

        A table without a record is accepted.
        """
        if other is None or self.matches(other):
            return
        same_name = f"another encoder named '{other.name}'" if self.name == other.name else f"'{other.name}'"
        raise TableError(
            f"{what} was fitted on vectors of the encoder '{self.name}' (width {self.width}), and {where} has vectors "
            f"of {same_name} (width {other.width}). Embed the texts with the encoder of {what}, or fit again on "
            "this table.",
            Advice(" With ", Argument("any_space", True), " the file is loaded for any encoder of its width."),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the record as values that JSON can hold."""
        return {**asdict(self), "sample": [list(row) for row in self.sample]}

    @classmethod
    def from_dict(cls, plain: Any) -> EncoderRecord | None:
        """Return the record from the output of `to_dict`; None for anything else."""
        try:
            limit = plain["max_length"]
            return cls(
                str(plain["name"]),
                str(plain["source"]),
                str(plain["library"]),
                str(plain["pooling"]),
                bool(plain["normalized"]),
                None if limit is None else int(limit),
                int(plain["width"]),
                tuple(tuple(float(value) for value in row) for row in plain["sample"]),
            )
        except (KeyError, TypeError, ValueError):
            return None


def sample_coordinates(vectors: NDArray[Any]) -> tuple[tuple[float, ...], ...]:
    """Return the first coordinates of vectors at unit length, rounded to seven digits."""
    unit = unit_rows(np.asarray(vectors, dtype=np.float64))[:, :SAMPLED_COORDINATES]
    return tuple(tuple(round(value, 7) for value in row) for row in unit.tolist())


def encoder_of(schema: pa.Schema, column: str) -> EncoderRecord | None:
    """Return the recorded encoder of a column of vectors; None if there is no readable record."""
    return EncoderRecord.from_dict(_records(schema).get(column))


def with_encoder(schema: pa.Schema, column: str, record: EncoderRecord) -> pa.Schema:
    """Return a schema that records the encoder of a column; other metadata stay."""
    return _with_records(schema, {**_records(schema), column: record.to_dict()})


def without_encoders(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the records of columns that it does not have."""
    records = _records(schema)
    kept = {name: record for name, record in records.items() if name in schema.names}
    return schema if len(kept) == len(records) else _with_records(schema, kept)


def check_same_encoders(schema: pa.Schema, other: pa.Schema, first: Any, shard: Any) -> None:
    """Raise if two shards record different encoders for one column."""
    for name in _records(schema):
        one, two = encoder_of(schema, name), encoder_of(other, name)
        if one is not None and two is not None and not one.matches(two):
            raise TableError(
                f"{shard}: the vectors in '{name}' come from the encoder '{two.name}', those of {first} from another "
                f"one ('{one.name}'). Give shards that one encoder embedded."
            )


def _records(schema: pa.Schema) -> dict[str, Any]:
    try:
        records = json.loads((schema.metadata or {}).get(_KEY, b"{}"))
    except ValueError:
        return {}
    return records if isinstance(records, dict) else {}


def _with_records(schema: pa.Schema, records: dict[str, Any]) -> pa.Schema:
    others = {key: value for key, value in (schema.metadata or {}).items() if key != _KEY}
    if records:
        others[_KEY] = json.dumps(records).encode()
    return schema.with_metadata(others or None)
