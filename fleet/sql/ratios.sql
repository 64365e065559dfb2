-- SPDX-License-Identifier: Apache-2.0
SELECT model, resource, ratio, count(*) AS gpus
FROM (SELECT model, resource, round(ratio, 2) AS ratio FROM gpus WHERE gpu_s >= 60) rounded
GROUP BY model, resource, ratio ORDER BY model, resource, ratio LIMIT 4000
