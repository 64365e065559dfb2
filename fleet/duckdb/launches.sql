-- SPDX-License-Identifier: Apache-2.0
-- The launches of a store: Parquet files of `gpuwatch export --format=parquet` in folders named by what they are of,
-- STORE/model=H200/host=a/uuid=GPU-.../build=1.4/anything.parquet. Read first:
--   duckdb -cmd "SET VARIABLE store = 'STORE'" -cmd ".read fleet/duckdb/launches.sql" -f fleet/duckdb/slow_gpus.sql
CREATE OR REPLACE TEMP VIEW launches AS
SELECT *, hash(mangled, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared) AS shape
FROM read_parquet(getvariable('store') || '/**/*.parquet', hive_partitioning = true,
                  hive_types = {'model': VARCHAR, 'host': VARCHAR, 'uuid': VARCHAR, 'build': VARCHAR})
WHERE duration_ns IS NOT NULL;
