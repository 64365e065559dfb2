-- SPDX-License-Identifier: Apache-2.0
-- What became slower from one build to another: SET VARIABLE base = '1.4'; SET VARIABLE other = '1.5'. By GPU, so that
-- other GPUs under the other build are no regression; GPUs that ran both are the sample: the mean of their log ratios, its
-- standard error, and z, their quotient. A z of 3.1 has a probability of 0.001 where nothing changed and GPUs are many.
WITH medians AS (
    SELECT model, uuid, kernel, shape, build, ln(median(duration_ns)) AS level, sum(duration_ns) AS total
    FROM launches WHERE build IN (getvariable('base'), getvariable('other')) GROUP BY ALL HAVING count(*) >= 10
), pairs AS (
    SELECT o.model, o.uuid, o.kernel, sum(o.total * (o.level - b.level)) / sum(o.total) AS change, sum(o.total) AS total
    FROM medians b JOIN medians o USING (model, uuid, kernel, shape)
    WHERE b.build = getvariable('base') AND o.build = getvariable('other') GROUP BY ALL
)
SELECT model, kernel, count(*) AS gpus, round(exp(avg(change)), 4) AS ratio,
       round(avg(change) / nullif(stddev_samp(change) / sqrt(count(*)), 0), 2) AS z, round(sum(total) / 3.6e12, 6) AS gpu_hours
FROM pairs GROUP BY ALL HAVING count(*) >= 3 ORDER BY ratio DESC, kernel LIMIT 100;
