-- SPDX-License-Identifier: Apache-2.0
-- p: of Student's t by its normal approximation (Wallace 1959), two-sided, times the number of comparisons.
SELECT m.model AS model, n.program AS program, b.build AS before, n.build AS build, r.kernel AS kernel, r.gpus AS gpus,
       round(exp(r.step), 4) AS ratio, round(exp(r.step - 2 * r.error), 4) AS low, round(exp(r.step + 2 * r.error), 4) AS high,
       r.p AS p,
       CASE WHEN r.p < 0.001 AND r.step > 0.005 THEN 'slower' WHEN r.p < 0.001 AND r.step < -0.005 THEN 'faster'
            ELSE 'no change found' END AS verdict, round(r.gpu_hours, 4) AS gpu_hours
FROM (SELECT model_id, build_id, before_id, kernel, gpus, step, error, gpu_hours,
             CASE WHEN comparisons * tail > 1 THEN 1.0 ELSE comparisons * tail END AS p
      FROM (SELECT d.*, count(*) OVER () AS comparisons,
                   CASE WHEN z > 3 THEN 2 * exp(-z * z / 2) / (z * 2.5066282746) * (1 - 1 / (z * z) + 3 / (z * z * z * z))
                        ELSE 2 * exp(-z * z / 2) * 0.3989422804
                             * (0.4361836 * k - 0.1201676 * k * k + 0.937298 * k * k * k) END AS tail
            FROM (SELECT c.*, 1 / (1 + 0.33267 * z) AS k
                  FROM (SELECT e.*, (8 * gpus - 7) / (8 * gpus - 5.0)
                                    * sqrt((gpus - 1) * ln(1 + step * step / (error * error * (gpus - 1)))) AS z
                        FROM (SELECT model_id, build_id, before_id, kernel, count(*) AS gpus, avg(step) AS step,
                                     @deviation(step) / sqrt(count(*)) AS error, sum(gpu_s) / 3600 AS gpu_hours
                              FROM (SELECT model_id, build_id, before_id, kernel, gpu_s, step FROM changes
                                    UNION ALL
                                    SELECT model_id, build_id, before_id, 'all kernels' AS kernel, sum(gpu_s) AS gpu_s,
                                           sum(gpu_s * step) / sum(gpu_s) AS step
                                    FROM changes GROUP BY model_id, build_id, before_id, gpu_id) both_ways
                              GROUP BY model_id, build_id, before_id, kernel HAVING count(*) >= 3) e
                        WHERE error > 0) c) d) tailed) r
     JOIN model_names m ON r.model_id = m.model_id JOIN build_names n ON r.build_id = n.build_id JOIN build_names b ON r.before_id = b.build_id
ORDER BY CASE WHEN r.p < 0.001 AND r.step > 0.005 THEN 0 ELSE 1 END, r.step DESC, model, kernel LIMIT @rows
