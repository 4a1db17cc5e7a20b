-- The last 30 days (UTC) for the CMS's first page: one row a day, also where nothing happened.
WITH
  days AS (SELECT unnest(generate_series(current_date - 29, current_date, INTERVAL 1 DAY))::DATE AS day),
  placed AS (
    SELECT placed_at::DATE AS day, count(*) AS orders, sum(total) AS revenue
    FROM orders
    WHERE status <> 'CANCELLED' AND placed_at >= current_date - 29
    GROUP BY 1
  ),
  joined AS (
    SELECT created_at::DATE AS day, count(*) AS sign_ups FROM users WHERE created_at >= current_date - 29 GROUP BY 1
  ),
  carted AS (
    SELECT added_at::DATE AS day, count(*) AS cart_lines FROM cart_lines WHERE added_at >= current_date - 29 GROUP BY 1
  )
SELECT
  day,
  coalesce(orders, 0) AS orders,
  coalesce(revenue, 0) AS revenue,
  coalesce(sign_ups, 0) AS sign_ups,
  coalesce(cart_lines, 0) AS cart_lines
FROM days
LEFT JOIN placed USING (day)
LEFT JOIN joined USING (day)
LEFT JOIN carted USING (day)
ORDER BY day
