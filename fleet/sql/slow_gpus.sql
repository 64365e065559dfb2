-- SPDX-License-Identifier: Apache-2.0
SELECT g.model AS model, n.host AS host, n.uuid AS uuid, g.resource AS resource, round(g.ratio, 4) AS ratio,
       round(s.most, 4) AS health, g.shapes AS shapes, round(g.gpu_s / 3600, 3) AS gpu_hours
FROM gpus g JOIN gpu_names n ON g.gpu_id = n.gpu_id
     LEFT JOIN (SELECT uuid, which, max(most) AS most FROM state WHERE metric = 'gpuwatch_slowdown_ratio'
                GROUP BY uuid, which) s ON n.uuid = s.uuid AND g.resource = s.which
WHERE g.gpu_s >= 60
ORDER BY ratio DESC, uuid, resource LIMIT @rows
