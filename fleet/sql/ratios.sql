-- SPDX-License-Identifier: Apache-2.0
SELECT model, resource, round(ratio, 2) AS ratio, count(*) AS gpus FROM gpus WHERE gpu_s >= 60
GROUP BY model, resource, round(ratio, 2) ORDER BY model, resource, ratio LIMIT 4000
