-- Watchers against sales, by brand
-- How many watch and like each brand, and how many pieces it sold in the last 90 days.
WITH
  watched AS (SELECT slug, count(*) AS watchers FROM brand_watches GROUP BY slug),
  liked AS (SELECT slug, count(*) AS likers FROM brand_likes GROUP BY slug),
  sold AS (
    SELECT brand AS slug, sum(quantity) AS pieces, sum(quantity * price) AS revenue
    FROM cart_lines
    WHERE status = 'PURCHASED' AND status_at >= now() - INTERVAL 90 DAY
    GROUP BY brand
  )
SELECT
  brands.name AS brand,
  coalesce(watchers, 0) AS watchers,
  coalesce(likers, 0) AS likers,
  coalesce(pieces, 0) AS pieces_sold,
  coalesce(revenue, 0) AS revenue
FROM brands
LEFT JOIN watched USING (slug)
LEFT JOIN liked USING (slug)
LEFT JOIN sold USING (slug)
WHERE coalesce(watchers, likers, pieces) IS NOT NULL
ORDER BY watchers DESC, pieces_sold DESC
LIMIT 40
