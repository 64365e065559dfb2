-- SPDX-License-Identifier: Apache-2.0
SELECT s.model AS model, n.host AS host, n.uuid AS uuid, s.resource AS resource, round(exp(s.step - m.middle), 4) AS ratio,
       round((s.step - m.middle) / sqrt(m.deviation * m.deviation + s.error * s.error), 1) AS deviations,
       round(s.gpu_s / 3600, 3) AS gpu_hours
FROM steps s JOIN (SELECT d.model AS model, d.resource AS resource, min(d.middle) AS middle,
                          1.4826 * @median(abs(d.step - d.middle)) AS deviation
                   FROM (SELECT x.model AS model, x.resource AS resource, x.step AS step, t.middle AS middle FROM steps x
                         JOIN (SELECT model, resource, @median(step) AS middle FROM steps GROUP BY model, resource) t
                         ON x.model = t.model AND x.resource = t.resource) d
                   GROUP BY d.model, d.resource) m ON s.model = m.model AND s.resource = m.resource
     JOIN gpu_names n ON s.gpu_id = n.gpu_id
WHERE m.deviation > 0
ORDER BY deviations DESC, uuid, resource LIMIT @rows
