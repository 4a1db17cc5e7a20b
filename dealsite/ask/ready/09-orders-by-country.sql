-- Orders by country
-- Where orders of the last year went: how many, what they came to, and the average.
SELECT
  country,
  count(*) AS orders,
  sum(total) AS revenue,
  round(avg(total), 2)::DECIMAL(12, 2) AS average_order,
  count(DISTINCT username) AS customers
FROM orders
WHERE status <> 'CANCELLED' AND placed_at >= now() - INTERVAL 1 YEAR
GROUP BY country
ORDER BY revenue DESC
LIMIT 30
