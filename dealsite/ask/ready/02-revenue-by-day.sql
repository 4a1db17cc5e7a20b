-- Orders and revenue by day
-- Each day of the last 90 (UTC): orders that were not cancelled, and what they came to.
SELECT
  placed_at::DATE AS day,
  sum(total) AS revenue,
  count(*) AS orders,
  round(avg(total), 2)::DECIMAL(12, 2) AS average_order
FROM orders
WHERE status <> 'CANCELLED' AND placed_at >= now() - INTERVAL 90 DAY
GROUP BY 1
ORDER BY 1
