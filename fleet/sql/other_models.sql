-- SPDX-License-Identifier: Apache-2.0
-- Only what was measured on both counts: the store has no work of kernels to predict from.
SELECT n.program AS program, t.model AS model, m.model AS other_model, round(sum(t.gpu_s) / 3600, 4) AS gpu_hours,
       round(sum(CASE WHEN o.usual > 0 AND u.usual > 0 THEN t.gpu_s ELSE 0 END) / sum(t.gpu_s), 4) AS share_known,
       round(sum(CASE WHEN u.usual > 0 THEN t.gpu_s * o.usual / u.usual END)
             / sum(CASE WHEN o.usual > 0 AND u.usual > 0 THEN t.gpu_s END), 4) AS time_there
FROM (SELECT model, build_id, shape, sum(gpu_s) AS gpu_s FROM sums GROUP BY model, build_id, shape) t
     CROSS JOIN (SELECT DISTINCT model FROM gpu_names) m
     LEFT JOIN usual u ON t.model = u.model AND t.shape = u.shape AND t.build_id = u.build_id
     LEFT JOIN usual o ON m.model = o.model AND t.shape = o.shape AND t.build_id = o.build_id
     JOIN build_names n ON t.build_id = n.build_id
WHERE t.model <> m.model
GROUP BY n.program, t.model, m.model ORDER BY gpu_hours DESC, model, other_model LIMIT @rows
