-- SPDX-License-Identifier: Apache-2.0
-- Only what was measured on both counts: the store has no work of kernels to predict from.
SELECT n.program AS program, h.model AS model, m.model AS other_model, round(sum(t.gpu_s) / 3600, 4) AS gpu_hours,
       round(sum(CASE WHEN o.usual > 0 AND u.usual > 0 THEN t.gpu_s ELSE 0 END) / sum(t.gpu_s), 4) AS share_known,
       round(sum(CASE WHEN u.usual > 0 THEN t.gpu_s * o.usual / u.usual END)
             / sum(CASE WHEN o.usual > 0 AND u.usual > 0 THEN t.gpu_s END), 4) AS time_there
FROM (SELECT model_id, build_id, shape, sum(gpu_s) AS gpu_s FROM sums GROUP BY model_id, build_id, shape) t
     JOIN model_names h ON t.model_id = h.model_id
     CROSS JOIN model_names m
     LEFT JOIN usual u ON t.model_id = u.model_id AND t.shape = u.shape AND t.build_id = u.build_id
     LEFT JOIN usual o ON m.model_id = o.model_id AND t.shape = o.shape AND t.build_id = o.build_id
     JOIN build_names n ON t.build_id = n.build_id
WHERE t.model_id <> m.model_id
GROUP BY n.program, h.model, m.model ORDER BY gpu_hours DESC, model, other_model LIMIT @rows
