-- SPDX-License-Identifier: Apache-2.0
SELECT loss, cause, count(DISTINCT gpu) AS gpus, round(sum(lost_s) / 3600, 4) AS gpu_hours,
       round(sum(lost_s) / min(a.gpu_s), 6) AS share
FROM (SELECT CASE WHEN metric = 'gpuwatch_throttled_seconds' THEN 'clocks throttled'
                  WHEN which = 'starvation' THEN 'idle between kernels' ELSE 'slow launches' END AS loss,
             coalesce(which, 'unknown') AS cause, uuid AS gpu, value AS lost_s
      FROM state WHERE metric IN ('gpuwatch_lost_seconds', 'gpuwatch_throttled_seconds')
      UNION ALL
      SELECT 'slower than others of the model' AS loss, g.resource AS cause, n.uuid AS gpu,
             g.gpu_s * (1 - 1 / g.ratio) AS lost_s
      FROM gpus g JOIN gpu_names n ON g.gpu_id = n.gpu_id WHERE g.ratio > 1.1) losses
     CROSS JOIN (SELECT sum(gpu_s) AS gpu_s FROM sums) a
GROUP BY loss, cause ORDER BY gpu_hours DESC, loss, cause LIMIT @rows
