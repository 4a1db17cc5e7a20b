-- Stock running out
-- Live deals with a counted stock, by how many days it lasts at the pace of the last week.
WITH sold AS (
  SELECT deal, sum(quantity) AS pieces
  FROM cart_lines
  WHERE status = 'PURCHASED' AND status_at >= now() - INTERVAL 7 DAY
  GROUP BY deal
)
SELECT
  deals.title,
  offers.stock,
  coalesce(sold.pieces, 0) AS sold_in_a_week,
  round(offers.stock * 7.0 / sold.pieces, 1) AS days_left,
  deals.brand_name AS brand,
  offers.id AS deal
FROM offers
JOIN deals ON deals.id = offers.id
LEFT JOIN sold ON sold.deal = offers.id
WHERE offers.stock IS NOT NULL AND (offers.expires_at IS NULL OR offers.expires_at > now())
ORDER BY days_left NULLS LAST, offers.stock
LIMIT 50
