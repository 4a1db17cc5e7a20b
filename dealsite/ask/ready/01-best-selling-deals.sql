-- Best selling deals
-- The deals that brought most in the last 30 days: pieces, orders and money.
SELECT
  title,
  sum(quantity * price) AS revenue,
  sum(quantity) AS pieces,
  count(DISTINCT order_id) AS orders,
  brand_name AS brand,
  deal
FROM cart_lines
WHERE status = 'PURCHASED' AND status_at >= now() - INTERVAL 30 DAY
GROUP BY deal, title, brand_name
ORDER BY revenue DESC
LIMIT 20
