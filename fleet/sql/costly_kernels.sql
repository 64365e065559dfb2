-- SPDX-License-Identifier: Apache-2.0
SELECT m.model AS model, b.program AS program, k.kernel AS kernel, @resource(min(c.resource)) AS resource,
       sum(c.launches) AS launches, max(c.gpus) AS gpus, round(sum(c.gpu_s) / 3600, 4) AS gpu_hours,
       round(sum(c.compared_s) / sum(c.expected_s), 4) AS over_predicted,
       round(sum(c.predicted_s) / 3600, 4) AS hours_over_predicted, round(sum(c.fastest_s) / 3600, 4) AS hours_over_fastest
FROM (SELECT s.model_id AS model_id, s.build_id AS build_id, s.shape AS shape, min(s.resource) AS resource, count(*) AS gpus,
             sum(s.launches) AS launches, sum(s.gpu_s) AS gpu_s, sum(s.compared_s) AS compared_s,
             sum(s.expected_s) AS expected_s,
             sum(CASE WHEN s.compared_s > 0 THEN s.gpu_s * (1 - s.expected_s / s.compared_s) END) AS predicted_s,
             sum(CASE WHEN s.timed > 0 AND u.fast * s.timed < 1e9 * s.timed_s
                      THEN s.gpu_s * (1 - u.fast * s.timed / (1e9 * s.timed_s)) WHEN u.fast > 0 THEN 0 END) AS fastest_s
      FROM sums s LEFT JOIN usual u ON s.model_id = u.model_id AND s.shape = u.shape AND s.build_id = u.build_id
      GROUP BY s.model_id, s.build_id, s.shape) c
     JOIN model_names m ON c.model_id = m.model_id JOIN build_names b ON c.build_id = b.build_id JOIN kernel_names k ON c.shape = k.shape
GROUP BY m.model, b.program, k.kernel
ORDER BY coalesce(hours_over_predicted, 0) + coalesce(hours_over_fastest, 0) DESC, gpu_hours DESC, model, kernel LIMIT @rows
