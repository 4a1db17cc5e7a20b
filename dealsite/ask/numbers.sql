-- The last 30 days (UTC) for the CMS's overview: a row for each day on which something happened, and how much of it by this time of the day.
WITH
  clock AS (SELECT now() AT TIME ZONE 'UTC' AS now),
  days AS (SELECT unnest(generate_series(current_date - 29, current_date, INTERVAL 1 DAY)) AS day),
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
    -- What is live at the end of a day, or now; deals are taken as they are now.
    UNION ALL
    SELECT 'live_deals', days.day, 1
    FROM days, clock, deals
    WHERE live_at < least(days.day + INTERVAL 1 DAY, now)
      AND (expires_at IS NULL OR expires_at > least(days.day + INTERVAL 1 DAY, now))
  )
SELECT
  name,
  current_date - moment::DATE AS days_ago,
  sum(value) AS value,
  coalesce(sum(value) FILTER (WHERE moment::TIME <= now::TIME), 0) AS by_now
FROM events, clock
WHERE moment::DATE BETWEEN current_date - 29 AND current_date
GROUP BY name, moment::DATE
