import pyarrow as pa, pyarrow.parquet as pq, sys
out = sys.argv[1]
n = 300
user = ["u%d" % (i % 7) if i % 11 else None for i in range(n)]
item = [i * 1000003 for i in range(n)]
tags = [None if i % 13 == 0 else ["t%d" % j for j in range(i % 4)] for i in range(n)]
codes = [[i, 4_000_000_000 + i] for i in range(n)]
price = [i / 8 for i in range(n)]
age = [i % 90 for i in range(n)]
click = [i % 3 == 0 for i in range(n)]
table = pa.table({
    "user": pa.array(user), "item": pa.array(item, pa.int64()), "tags": pa.array(tags, pa.list_(pa.string())),
    "codes": pa.array(codes, pa.list_(pa.uint32())), "price": pa.array(price, pa.float32()), "age": pa.array(age, pa.int8()),
    "click": pa.array(click), "point": pa.array([{"x": 1, "y": 2}] * n),
    "rough": pa.array([None if i == 4 else float("nan") if i == 5 else float(i) for i in range(n)]),
})
for name, options in {
    "snappy": {"row_group_size": 100},
    "gzip-v2": {"compression": "gzip", "data_page_version": "2.0", "row_group_size": 128, "data_page_size": 256},
    "zstd-plain": {"compression": "zstd", "use_dictionary": False, "version": "1.0"},
    "delta": {"compression": "none", "use_dictionary": False, "data_page_version": "2.0", "column_encoding": {
        "user": "DELTA_LENGTH_BYTE_ARRAY", "item": "DELTA_BINARY_PACKED", "price": "BYTE_STREAM_SPLIT"}},
}.items():
    pq.write_table(table, f"{out}/{name}.parquet", **options)
with pq.ParquetWriter(f"{out}/empty-groups.parquet", table.schema) as writer:
    for lo, hi in (0, 0), (0, 200), (200, 200), (200, n):
        writer.write_table(table.slice(lo, hi - lo))
with open(f"{out}/text.csv", "w") as f:
    f.write("user,item,tags,codes,price,age,click\n")
    for i in range(n):
        f.write(",".join([user[i] or "", str(item[i]), "|".join(tags[i] or []), "|".join(map(str, codes[i])), str(price[i]), str(age[i]), str(int(click[i]))]) + "\n")
