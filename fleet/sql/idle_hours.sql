-- SPDX-License-Identifier: Apache-2.0
SELECT cause, max(gpus) AS gpus, round(sum(idle_s) / 3600, 4) AS gpu_hours, round(sum(idle_s) / min(a.seen_s), 6) AS share
FROM (SELECT coalesce(which, 'between kernels, cause unknown') AS cause, count(DISTINCT uuid) AS gpus, sum(value) AS idle_s
      FROM state WHERE metric = 'gpuwatch_idle_seconds' GROUP BY coalesce(which, 'between kernels, cause unknown')
      UNION ALL
      SELECT 'kernels ran' AS cause, count(DISTINCT gpu_id) AS gpus, sum(gpu_s) AS idle_s FROM sums) parts
     CROSS JOIN (SELECT sum(CASE WHEN seen_s > 3600 THEN 3600 ELSE seen_s END) AS seen_s FROM seen) a
GROUP BY cause ORDER BY gpu_hours DESC, cause LIMIT @rows
