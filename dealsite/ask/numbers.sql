-- The 30 days (UTC) until $last for the CMS's overview: a row for each number and day on which something happened.
WITH
  days AS (SELECT unnest(generate_series($last::DATE - 29, $last::DATE, INTERVAL 1 DAY)) AS day),
  events(name, moment, value) AS (
    SELECT 'orders', placed_at, 1 FROM orders WHERE status <> 'CANCELLED'
    UNION ALL SELECT 'revenue', placed_at, total FROM orders WHERE status <> 'CANCELLED'
    UNION ALL SELECT 'sign_ups', created_at, 1 FROM users
    UNION ALL SELECT 'cart_lines', added_at, 1 FROM cart_lines
    UNION ALL SELECT 'new_deals', live_at, 1 FROM deals
    UNION ALL SELECT 'interests', created_at, 1 FROM brand_likes
    UNION ALL SELECT 'interests', created_at, 1 FROM category_likes
    UNION ALL SELECT 'interests', created_at, 1 FROM deal_likes
    UNION ALL SELECT 'interests', created_at, 1 FROM brand_watches
    UNION ALL SELECT 'interests', created_at, 1 FROM category_watches
    UNION ALL SELECT 'messages', sent_at, 1 FROM messages
    -- What is live at the end of a day; deals are taken as they are now.
    UNION ALL
    SELECT 'live_deals', days.day, 1
    FROM days, deals
    WHERE live_at < days.day + INTERVAL 1 DAY
      AND (expires_at IS NULL OR expires_at > days.day + INTERVAL 1 DAY)
  )
SELECT name, moment::DATE, sum(value)::VARCHAR
FROM events
WHERE moment::DATE BETWEEN $last::DATE - 29 AND $last::DATE
GROUP BY name, moment::DATE
