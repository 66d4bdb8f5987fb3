"""Makes the files of this folder by other writers of Parquet, and beside each what its rows are.

    pip install pyarrow duckdb; python3 make.py

Each FILE.parquet has the rows of FILE.txt: a row a line, its columns as name=value with tabs between, without those that are null.
"""
import datetime
import decimal
import json
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet

HERE = Path(__file__).parent
UTC = datetime.timezone.utc
COUNT = 40

TYPES = {
    "id": (pyarrow.int64(), lambda n: n, str),
    "small": (pyarrow.uint8(), lambda n: 255 - n, str),
    "large": (pyarrow.uint64(), lambda n: 2**64 - 1 - n, str),
    "flag": (pyarrow.bool_(), lambda n: n % 2 == 0, lambda v: str(v).lower()),
    "half": (pyarrow.float16(), lambda n: n / 4, lambda v: f"{v:g}"),
    "float": (pyarrow.float32(), lambda n: n / 8, lambda v: f"{v:g}"),
    "double": (pyarrow.float64(), lambda n: n / 10, lambda v: f"{v:.15g}"),
    "text": (pyarrow.string(), lambda n: f"caf\u00e9 {n % 3}", str),
    "bytes": (pyarrow.binary(), lambda n: b"b%d" % n, lambda v: v.decode()),
    "fixed": (pyarrow.binary(4), lambda n: b"%04d" % n, lambda v: v.decode()),
    "price": (pyarrow.decimal128(20, 3), lambda n: decimal.Decimal(n * 1001 - 20_000).scaleb(-3), str),
    "huge": (pyarrow.decimal256(60, 0), lambda n: decimal.Decimal(-(10**50) - n), lambda v: str(int(v))),
    "day": (pyarrow.date32(), lambda n: datetime.date(1969, 12, 20) + datetime.timedelta(n), str),
    "time": (pyarrow.time64("us"), lambda n: datetime.time(1, 2, n, 500), str),
    "at": (
        pyarrow.timestamp("ms", "UTC"),
        lambda n: datetime.datetime(2026, 11, 26, 8, 30, n, tzinfo=UTC),
        lambda v: v.isoformat().replace("+00:00", "Z"),
    ),
    "local": (pyarrow.timestamp("us"), lambda n: datetime.datetime(2026, 11, 26, 8, 30, n, n + 1), lambda v: v.isoformat()),
    "list": (pyarrow.list_(pyarrow.int32()), lambda n: [None, *range(n % 4)], lambda v: compact(v)),
    "struct": (
        pyarrow.struct([("a", pyarrow.int32()), ("b", pyarrow.list_(pyarrow.string()))]),
        lambda n: {"a": None if n % 3 else n, "b": None if n % 5 else ["x", "\"y\""] * (n % 2)},
        lambda v: compact(v),
    ),
    "map": (
        pyarrow.map_(pyarrow.string(), pyarrow.float64()),
        lambda n: [(f"k{m}", m / 2) for m in range(n % 3)],
        lambda v: "{" + ",".join(f"{json.dumps(k)}:{v:g}" for k, v in v) + "}",
    ),
    "nested": (
        pyarrow.list_(pyarrow.list_(pyarrow.struct([("n", pyarrow.int64())]))),
        lambda n: [[{"n": m} for m in range(n % 3)], [], None][: n % 4],
        lambda v: compact(v),
    ),
}


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def value(name, n):
    # Each column has nulls in other rows.
    return None if name != "id" and (n + len(name)) % 7 == 0 else TYPES[name][1](n)


def lines(names):
    row = lambda n: [(name, value(name, n)) for name in names]
    shown = lambda n: "\t".join(f"{name}={TYPES[name][2](v)}" for name, v in row(n) if v is not None)
    return "".join(shown(n) + "\n" for n in range(COUNT))


def table(names):
    columns = [pyarrow.array([value(name, n) for n in range(COUNT)], TYPES[name][0]) for name in names]
    return pyarrow.table(columns, names=names)


def write(file, names=tuple(TYPES), **options):
    path = HERE / f"{file}.parquet"
    pyarrow.parquet.write_table(table(list(names)), path, row_group_size=15, write_statistics=False, store_schema=False, **options)
    (HERE / f"{file}.txt").write_text(lines(names))


few = ("id", "text", "double", "fixed", "list")
write("arrow-plain", compression="none", use_dictionary=False)
write("arrow-snappy", compression="snappy", data_page_version="2.0")
write("arrow-brotli", few, compression="brotli", write_page_checksum=True)
write("arrow-lz4", few, compression="lz4")
encodings = {"id": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "double": "BYTE_STREAM_SPLIT", "fixed": "BYTE_STREAM_SPLIT"}
write("arrow-delta", few, compression="zstd", use_dictionary=False, column_encoding=encodings)
write("arrow-int96", ("id", "local"), use_deprecated_int96_timestamps=True)
# The writer has no time zone in a column of this kind; what is written are instants.
text = (HERE / "arrow-int96.txt").read_text().splitlines()
(HERE / "arrow-int96.txt").write_text("".join(line + ("Z\n" if "local=" in line else "\n") for line in text))

rows = table(("id", "text", "price", "day", "list", "struct"))
duckdb.sql("COPY rows TO '%s' (FORMAT parquet, CODEC gzip, PARQUET_VERSION v2)" % (HERE / "duckdb-gzip.parquet"))
(HERE / "duckdb-gzip.txt").write_text(lines(("id", "text", "price", "day", "list", "struct")))
