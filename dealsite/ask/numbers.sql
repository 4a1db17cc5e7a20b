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
  ),
  published AS (
    SELECT live_at::DATE AS day, count(*) AS new_deals
    FROM deals
    WHERE live_at >= current_date - 29 AND live_at::DATE <= current_date
    GROUP BY 1
  ),
  interested AS (
    SELECT created_at::DATE AS day, count(*) AS interests
    FROM (
      SELECT created_at FROM brand_likes
      UNION ALL SELECT created_at FROM category_likes
      UNION ALL SELECT created_at FROM brand_watches
      UNION ALL SELECT created_at FROM category_watches
    ) AS relations
    WHERE created_at >= current_date - 29
    GROUP BY 1
  ),
  delivered AS (
    SELECT sent_at::DATE AS day, count(*) AS messages FROM messages WHERE sent_at >= current_date - 29 GROUP BY 1
  )
SELECT
  day,
  coalesce(orders, 0) AS orders,
  coalesce(revenue, 0) AS revenue,
  coalesce(sign_ups, 0) AS sign_ups,
  coalesce(cart_lines, 0) AS cart_lines,
  coalesce(new_deals, 0) AS new_deals,
  coalesce(interests, 0) AS interests,
  coalesce(messages, 0) AS messages
FROM days
LEFT JOIN placed USING (day)
LEFT JOIN joined USING (day)
LEFT JOIN carted USING (day)
LEFT JOIN published USING (day)
LEFT JOIN interested USING (day)
LEFT JOIN delivered USING (day)
ORDER BY day
