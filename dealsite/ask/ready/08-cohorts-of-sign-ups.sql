-- Cohorts of sign-ups
-- By month of signing up: how many ordered in the same month, and in the first, second and third month after.
WITH activity AS (
  SELECT
    users.username,
    date_trunc('month', users.created_at) AS month,
    date_diff('month', users.created_at, orders.placed_at) AS months_later
  FROM users
  LEFT JOIN orders ON orders.username = users.username AND orders.status <> 'CANCELLED'
)
SELECT
  strftime(month, '%Y-%m') AS signed_up,
  count(DISTINCT username) AS users,
  count(DISTINCT username) FILTER (WHERE months_later = 0) AS ordered_same_month,
  count(DISTINCT username) FILTER (WHERE months_later = 1) AS after_1_month,
  count(DISTINCT username) FILTER (WHERE months_later = 2) AS after_2_months,
  count(DISTINCT username) FILTER (WHERE months_later = 3) AS after_3_months
FROM activity
GROUP BY month
ORDER BY month
