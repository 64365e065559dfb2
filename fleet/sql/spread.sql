-- SPDX-License-Identifier: Apache-2.0
SELECT g.model AS model, g.resource AS resource, count(*) AS gpus, round(avg(abs(g.ratio - 1)), 4) AS mean_deviation,
       round(@quantile(g.ratio, 0.05), 4) AS p5, round(@median(g.ratio), 4) AS p50,
       round(@quantile(g.ratio, 0.95), 4) AS p95, round(max(g.ratio), 4) AS slowest,
       sum(CASE WHEN g.ratio > q.upper + 3 * (q.upper - q.lower) THEN 1 ELSE 0 END) AS outliers
FROM gpus g JOIN (SELECT model, resource, @quantile(ratio, 0.25) AS lower, @quantile(ratio, 0.75) AS upper FROM gpus
                  WHERE gpu_s >= 60 GROUP BY model, resource) q ON g.model = q.model AND g.resource = q.resource
WHERE g.gpu_s >= 60
GROUP BY g.model, g.resource ORDER BY gpus DESC, model, resource LIMIT @rows
