-- Cancelled orders
-- Orders cancelled in the last 90 days, with who did it and the note that was left.
SELECT
  status_at AS cancelled_at,
  username,
  total,
  json_extract_string(timeline, '$[#-1].by') AS cancelled_by,
  status_note AS note,
  round(date_diff('minute', placed_at, status_at) / 60.0, 1) AS hours_after_placing,
  id AS order_id
FROM orders
WHERE status = 'CANCELLED' AND status_at >= now() - INTERVAL 90 DAY
ORDER BY status_at DESC
LIMIT 500
