-- SPDX-License-Identifier: Apache-2.0
-- GPUs of a model that take longest for what others of it run, too, by what bounds the kernels: the geometric mean of
-- (this GPU's median / the median of all GPUs' medians) over the launch shapes that three GPUs or more have run, weighted
-- by the GPU's time.
WITH medians AS (
    SELECT model, host, uuid, coalesce(bound, 'unknown') AS bound, shape, median(duration_ns) AS ns, sum(duration_ns) AS total
    FROM launches GROUP BY ALL HAVING count(*) >= 10
), usual AS (
    SELECT model, bound, shape, median(ns) AS usual FROM medians GROUP BY ALL HAVING count(DISTINCT uuid) >= 3
)
SELECT model, host, uuid, bound, count(*) AS shapes,
       round(exp(sum(total * ln(ns / usual)) / sum(total)), 4) AS ratio, round(sum(total) / 3.6e12, 6) AS gpu_hours
FROM medians JOIN usual USING (model, bound, shape)
GROUP BY ALL ORDER BY ratio DESC, uuid LIMIT 100;
