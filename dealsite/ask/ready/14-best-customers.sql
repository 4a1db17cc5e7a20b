-- Best customers
-- Who ordered for most in the last year, how often, and when last.
SELECT
  username,
  sum(total) AS revenue,
  count(*) AS orders,
  round(avg(total), 2)::DECIMAL(12, 2) AS average_order,
  max(placed_at) AS last_order
FROM orders
WHERE status <> 'CANCELLED' AND placed_at >= now() - INTERVAL 1 YEAR
GROUP BY username
ORDER BY revenue DESC
LIMIT 30
