-- From cart to order, by category
-- Of the lines that were put into carts in the last 90 days: how many were bought, in percent.
SELECT
  category,
  round(100.0 * count(DISTINCT id) FILTER (WHERE status = 'PURCHASED') / count(DISTINCT id), 1) AS percent_bought,
  count(DISTINCT id) AS put_into_carts,
  count(DISTINCT id) FILTER (WHERE status = 'PURCHASED') AS bought
FROM cart_lines_history
WHERE changed_at >= now() - INTERVAL 90 DAY AND change = 'put'
GROUP BY category
ORDER BY percent_bought DESC
