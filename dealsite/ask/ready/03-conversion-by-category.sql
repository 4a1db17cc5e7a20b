-- From cart to order, by category
-- Of the lines that were put into carts in the last 90 days and not taken out again: how many were bought, in percent.
SELECT
  category,
  round(100.0 * count(*) FILTER (WHERE status = 'PURCHASED') / count(*), 1) AS percent_bought,
  count(*) AS put_into_carts,
  count(*) FILTER (WHERE status = 'PURCHASED') AS bought
FROM cart_lines
WHERE added_at >= now() - INTERVAL 90 DAY
GROUP BY category
ORDER BY percent_bought DESC
