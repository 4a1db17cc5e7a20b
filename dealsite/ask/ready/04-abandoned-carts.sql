-- Abandoned carts
-- Users with lines in the cart that nobody touched for two days: worth, pieces, and since when.
SELECT
  username,
  sum(quantity * price) AS worth,
  sum(quantity) AS pieces,
  max(status_at) AS last_touched,
  string_agg(title, '; ' ORDER BY status_at DESC) AS deals
FROM cart_lines
WHERE status = 'ACTIVE' AND NOT is_visitor
GROUP BY username
HAVING max(status_at) < now() - INTERVAL 2 DAY
ORDER BY worth DESC
LIMIT 100
