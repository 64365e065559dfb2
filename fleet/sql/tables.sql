-- SPDX-License-Identifier: Apache-2.0
-- The rows that questions read (cli/fleet/questions.def), each from its line "--- name" on: one SELECT.

--- samples_hours
-- Samples of an agent that wrote no tables of hours yet: what came to each series in an hour.
SELECT uuid, model, host, metric, kernel, @by AS label, which, time_s, count(*) AS samples,
       avg(value) AS mean, max(value) AS most, sum(added) AS added, sum(launches_added) AS launches
FROM (SELECT s.*, p.path_host AS host,
             @hour(@epoch(s.time)) AS time_s,
             CASE WHEN lag(value) OVER series IS NULL THEN 0
                  WHEN value >= lag(value) OVER series THEN value - lag(value) OVER series ELSE value END AS added,
             CASE WHEN lag(launches) OVER series IS NULL THEN 0
                  WHEN launches >= lag(launches) OVER series THEN launches - lag(launches) OVER series
                  ELSE launches END AS launches_added
      FROM samples_files s JOIN paths p ON s.file = p.file
      WHERE uuid IS NOT NULL AND program IS NULL
      WINDOW series AS (PARTITION BY p.path_host, uuid, metric, kernel, @by, which ORDER BY s.time)) steps
GROUP BY uuid, model, host, metric, kernel, @by, which, time_s

--- work_all
-- Launches by hour, GPU, program, build and configuration, from whatever files of the store have them. What has no
-- configuration gets a negative number, -1 in the table of hours (the kernel `other`), else by its kernel: it is compared
-- with nothing. Rows with numbers are apart from those without, so that no name of theirs is read for the numbers.
SELECT time_s, gpu_id, host, uuid, model, coalesce(build_id, 0) AS build_id, program, build, kernel, coalesce(shape, -1) AS shape,
       bound, launches, gpu_s, timed, timed_s, compared_s, expected_s
FROM work_files WHERE gpu_id IS NOT NULL
UNION ALL
SELECT time_s, @hash(uuid) AS gpu_id, host, uuid, model,
       @hash(concat(coalesce(program, ''), ' ', coalesce(build, ''))) AS build_id, program, build, kernel,
       coalesce(shape, -1) AS shape, bound, launches, gpu_s, timed, timed_s, compared_s, expected_s
FROM work_unnumbered_files WHERE gpu_id IS NULL AND uuid IS NOT NULL
UNION ALL
SELECT time_s, @hash(uuid) AS gpu_id, host, uuid, model, 0 AS build_id, NULL AS program, NULL AS build, kernel,
       -2 - @hash(kernel) AS shape, NULL AS bound,
       CAST(sum(CASE WHEN metric = 'gpuwatch_launches_total' THEN added ELSE 0 END) AS BIGINT) AS launches,
       sum(CASE WHEN metric = 'gpuwatch_gpu_seconds_total' THEN added ELSE 0 END) AS gpu_s,
       CAST(sum(CASE WHEN metric = 'gpuwatch_kernel_seconds' THEN launches ELSE 0 END) AS BIGINT) AS timed,
       sum(CASE WHEN metric = 'gpuwatch_kernel_seconds' THEN added ELSE 0 END) AS timed_s,
       sum(CASE WHEN metric = 'gpuwatch_kernel_compared_seconds_total' THEN added END) AS compared_s,
       sum(CASE WHEN metric = 'gpuwatch_kernel_expected_seconds_total' THEN added END) AS expected_s
FROM samples_hours WHERE kernel IS NOT NULL GROUP BY time_s, host, uuid, model, kernel
UNION ALL
SELECT @hour(@epoch(coalesce(start_ns, call_ns))) AS time_s, @hash(uuid) AS gpu_id, host, uuid, model, @hash(coalesce(build, '')) AS build_id,
       NULL AS program, build, kernel,
       @hash(mangled, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared) AS shape, bound,
       CAST(count(*) AS BIGINT) AS launches, sum(duration_ns) / 1e9 AS gpu_s, CAST(count(*) AS BIGINT) AS timed,
       sum(duration_ns) / 1e9 AS timed_s,
       sum(CASE WHEN predicted_ns > 0 THEN duration_ns / 1e9 END) AS compared_s,
       sum(CASE WHEN predicted_ns > 0 THEN predicted_ns / 1e9 END) AS expected_s
FROM (SELECT l.*, p.path_host AS host, p.path_uuid AS uuid, p.path_model AS model, p.path_build AS build
      FROM launches_files l JOIN paths p ON l.file = p.file) launch
WHERE uuid IS NOT NULL AND duration_ns IS NOT NULL AND coalesce(start_ns, call_ns) IS NOT NULL
GROUP BY @hour(@epoch(coalesce(start_ns, call_ns))), host, uuid, model, build, kernel, bound,
         @hash(mangled, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared)

--- state_all
-- What came to GPUs' metrics by hour, from whatever files of the store have it. from_s: another one where an agent
-- began anew in the hour.
SELECT time_s, seconds, coalesce(from_s, -seconds) AS from_s, host, uuid, model, metric, which, value, most FROM state_files
UNION ALL
SELECT time_s, 3600 AS seconds, -3600 AS from_s, host, uuid, model,
       CASE WHEN metric LIKE '%_total' THEN substr(metric, 1, length(metric) - 6) ELSE metric END AS metric, which,
       CASE WHEN metric LIKE '%_total' THEN added ELSE mean END AS value, most
FROM samples_hours WHERE kernel IS NULL AND (metric NOT LIKE '%_total' OR added > 0)

--- state
-- What came to the GPUs' metrics that questions read, within the time that was asked for.
SELECT uuid, metric, which, sum(value) AS value, max(most) AS most
FROM state_all
WHERE uuid IS NOT NULL AND @span(state_all)
      AND metric IN ('gpuwatch_idle_seconds', 'gpuwatch_lost_seconds', 'gpuwatch_slowdown_ratio', 'gpuwatch_throttled_seconds')
GROUP BY uuid, metric, which

--- seen
-- How long agents saw GPUs in each hour of the time that was asked for; more than an hour where two did.
SELECT uuid, time_s, sum(part_s) AS seen_s
FROM (SELECT uuid, time_s, from_s, max(seconds) AS part_s FROM state_all WHERE uuid IS NOT NULL AND @span(state_all)
      GROUP BY uuid, time_s, from_s) runs
GROUP BY uuid, time_s

--- hourly
-- The launches that the questions are about: within the time that was asked for, by resource (@resource). Two rows may
-- be of the same hour, GPU, build and configuration, where an agent began anew in it. Numbers alone: millions of rows are
-- grouped and joined by them.
SELECT time_s, gpu_id, @hash(coalesce(model, 'unknown')) AS model_id, build_id, shape,
       CASE bound WHEN 'compute' THEN 0 WHEN 'latency' THEN 1 WHEN 'launch' THEN 1 WHEN 'memory' THEN 2 ELSE 3 END AS resource,
       launches, gpu_s, timed, timed_s, compared_s, expected_s
FROM work_all WHERE @span(work_all)

--- names
-- GPUs, programs and builds, and kernels by their numbers, read at once. kind: 3 a GPU, 5 a build, 6 a configuration.
SELECT 4 * grouping(gpu_id) + 2 * grouping(build_id) + grouping(shape) AS kind, gpu_id, build_id, shape,
       any_value(uuid) AS uuid, any_value(coalesce(model, 'unknown')) AS model, any_value(coalesce(host, 'unknown')) AS host,
       any_value(program) AS program, any_value(build) AS build, any_value(kernel) AS kernel
FROM work_all GROUP BY GROUPING SETS ((gpu_id), (build_id), (shape))

--- gpu_names
-- GPUs by their numbers.
SELECT gpu_id, uuid, model, host FROM names WHERE kind = 3

--- model_names
-- Models by their numbers.
SELECT DISTINCT @hash(model) AS model_id, model FROM gpu_names

--- build_names
-- Programs and builds by their numbers.
SELECT build_id, program, build FROM names WHERE kind = 5

--- kernel_names
-- Kernels by the numbers of configurations.
SELECT shape, kernel FROM names WHERE kind = 6

--- sums
-- Launches by GPU, build and configuration, of all hours.
SELECT gpu_id, min(model_id) AS model_id, build_id, shape, min(resource) AS resource, sum(launches) AS launches, sum(gpu_s) AS gpu_s,
       sum(timed) AS timed, sum(timed_s) AS timed_s, sum(compared_s) AS compared_s, sum(expected_s) AS expected_s
FROM hourly GROUP BY gpu_id, build_id, shape

--- usual
-- What a launch of a configuration usually takes on a model of GPU: the median of the GPUs' means, of three or
-- more; what it takes on the fastest tenth of them; and how far the quartiles are apart, as a share of the median: much
-- where the time depends on data.
SELECT model_id, build_id, shape, @median(1e9 * timed_s / timed) AS usual, @quantile(1e9 * timed_s / timed, 0.1) AS fast,
       (@quantile(1e9 * timed_s / timed, 0.75) - @quantile(1e9 * timed_s / timed, 0.25))
       / @median(1e9 * timed_s / timed) AS apart
FROM sums WHERE shape >= 0 AND timed >= 10 AND timed_s > 0
GROUP BY model_id, build_id, shape HAVING count(*) >= 3

--- levels
-- By GPU, resource and hour the logarithm of the time that launches took over what they usually take there;
-- without configurations whose time depends on data, and hours in which one took twice or half of the usual.
SELECT h.gpu_id AS gpu_id, h.resource AS resource, h.time_s AS time_s,
       sum(h.gpu_s * ln(1e9 * h.timed_s / h.timed / u.usual)) / sum(h.gpu_s) AS level,
       sum(h.gpu_s) AS gpu_s, count(*) AS shapes
FROM hourly h JOIN usual u ON h.model_id = u.model_id AND h.shape = u.shape AND h.build_id = u.build_id
WHERE h.timed > 0 AND h.gpu_s > 0 AND h.timed_s > 0 AND u.apart < 0.15
      AND abs(ln(1e9 * h.timed_s / h.timed / u.usual)) < 0.7
GROUP BY h.gpu_id, h.resource, h.time_s

--- gpus
-- A GPU's time over the usual, by resource.
SELECT g.gpu_id AS gpu_id, n.model AS model, @resource(g.resource) AS resource, g.ratio AS ratio, g.gpu_s AS gpu_s, g.shapes AS shapes
FROM (SELECT gpu_id, resource, exp(sum(gpu_s * level) / sum(gpu_s)) AS ratio, sum(gpu_s) AS gpu_s, max(shapes) AS shapes
      FROM levels GROUP BY gpu_id, resource) g
     JOIN gpu_names n ON g.gpu_id = n.gpu_id

--- quarters
-- By GPU and resource the level in the first and in the last quarter of the GPU's hours.
SELECT q.gpu_id AS gpu_id, n.model AS model, @resource(q.resource) AS resource, q.gpu_s AS gpu_s, q.late AS late, q.early AS early, q.error AS error
FROM (SELECT gpu_id, resource, sum(gpu_s) AS gpu_s, avg(CASE WHEN 4 * place > 3 * hours THEN level END) AS late,
       avg(CASE WHEN 4 * place <= hours THEN level END) AS early,
       sqrt(@square(@deviation(CASE WHEN 4 * place > 3 * hours THEN level END)) / count(CASE WHEN 4 * place > 3 * hours THEN 1 END)
            + @square(@deviation(CASE WHEN 4 * place <= hours THEN level END)) / count(CASE WHEN 4 * place <= hours THEN 1 END))
       AS error
FROM (SELECT gpu_id, resource, gpu_s, level,
             row_number() OVER (PARTITION BY gpu_id, resource ORDER BY time_s) AS place,
             count(*) OVER (PARTITION BY gpu_id, resource) AS hours FROM levels) placed
WHERE hours >= 8 GROUP BY gpu_id, resource HAVING sum(gpu_s) >= 600) q
     JOIN gpu_names n ON q.gpu_id = n.gpu_id

--- steps
-- By GPU and resource the logarithm of the time in the last quarter of the GPU's hours over that in the first
-- quarter, less the same of its other resources, which drift with it; of all resources together as it is. error: standard
-- error by how much hours differ.
SELECT gpu_id, model, resource, gpu_s, late - early - coalesce((all_steps - gpu_s * (late - early)) / nullif(all_s - gpu_s, 0), 0) AS step,
       error
FROM (SELECT quarters.*, sum(gpu_s) OVER (PARTITION BY gpu_id) AS all_s,
             sum(gpu_s * (late - early)) OVER (PARTITION BY gpu_id) AS all_steps
      FROM quarters) one
UNION ALL
SELECT gpu_id, model, 'all' AS resource, sum(gpu_s) AS gpu_s, sum(gpu_s * (late - early)) / sum(gpu_s) AS step,
       max(error) AS error
FROM quarters GROUP BY gpu_id, model HAVING count(*) > 1

--- builds
-- Builds of a program, each with the one before it, in the order in which GPUs first ran them.
SELECT build_id, before_id
FROM (SELECT build_id, lag(build_id) OVER (PARTITION BY program ORDER BY first_s, mean_s, build) AS before_id
      FROM (SELECT h.build_id AS build_id, coalesce(n.program, '') AS program, n.build AS build, h.first_s AS first_s, h.mean_s AS mean_s
            FROM (SELECT build_id, min(time_s) AS first_s, avg(time_s) AS mean_s FROM hourly GROUP BY build_id) h
                 JOIN build_names n ON h.build_id = n.build_id WHERE n.build IS NOT NULL) named) ordered
WHERE before_id IS NOT NULL

--- firsts
-- When a GPU first ran a build that has one before it.
SELECT h.gpu_id AS gpu_id, h.build_id AS build_id, b.before_id AS before_id, min(h.time_s) AS first_s
FROM hourly h JOIN builds b ON h.build_id = b.build_id GROUP BY h.gpu_id, h.build_id, b.before_id

--- changes
-- By kernel and GPU that ran both builds, the logarithm of the time under a build over that under the one before
-- it: of the same configurations, the first hour of the build against the hours up to it and from two hours before it.
SELECT o.model_id AS model_id, o.build_id AS build_id, o.before_id AS before_id, k.kernel AS kernel, o.gpu_id AS gpu_id,
       sum(n.timed_s) AS gpu_s, sum(n.timed_s * ln(n.timed_s / n.timed * o.timed / o.timed_s)) / sum(n.timed_s) AS step
FROM (SELECT h.model_id AS model_id, f.build_id AS build_id, f.before_id AS before_id, h.gpu_id AS gpu_id, h.shape AS shape,
             sum(h.timed) AS timed, sum(h.timed_s) AS timed_s
      FROM hourly h JOIN firsts f ON h.gpu_id = f.gpu_id AND h.build_id = f.before_id
      WHERE h.time_s >= f.first_s - 7200 AND h.time_s <= f.first_s AND h.timed > 0 AND h.shape >= 0
      GROUP BY h.model_id, f.build_id, f.before_id, h.gpu_id, h.shape) o
     JOIN (SELECT f.build_id AS build_id, h.gpu_id AS gpu_id, h.shape AS shape, sum(h.timed) AS timed,
                  sum(h.timed_s) AS timed_s
           FROM hourly h JOIN firsts f ON h.gpu_id = f.gpu_id AND h.build_id = f.build_id
           WHERE h.time_s <= f.first_s + 3600 AND h.timed > 0 AND h.shape >= 0
           GROUP BY f.build_id, h.gpu_id, h.shape) n
     ON o.build_id = n.build_id AND o.gpu_id = n.gpu_id AND o.shape = n.shape
     JOIN kernel_names k ON o.shape = k.shape
WHERE n.timed >= 10 AND o.timed >= 10 AND n.timed_s > 0 AND o.timed_s > 0
GROUP BY o.model_id, o.build_id, o.before_id, k.kernel, o.gpu_id
