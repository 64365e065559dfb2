-- SPDX-License-Identifier: Apache-2.0
-- Kernels that cost the fleet most against expectation: measured less predicted GPU time of launches with a prediction.
SELECT model, kernel, coalesce(any_value(bound), 'unknown') AS bound, count(*) AS launches, count(DISTINCT uuid) AS gpus,
       round(sum(duration_ns) / 3.6e12, 6) AS gpu_hours, round(sum(duration_ns - predicted_ns) / 3.6e12, 6) AS hours_over,
       round(sum(duration_ns) / sum(predicted_ns), 4) AS ratio
FROM launches WHERE predicted_ns > 0 GROUP BY model, kernel ORDER BY hours_over DESC, kernel LIMIT 100;
