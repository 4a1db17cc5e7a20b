-- How many messages are read
-- Messages of the last 30 days by kind and headline: how many were sent, and how many of them were opened.
SELECT
  headline,
  count(*) AS sent,
  count(*) FILTER (WHERE NOT unread) AS opened,
  round(100.0 * count(*) FILTER (WHERE NOT unread) / count(*), 1) AS percent_opened,
  kind
FROM messages
WHERE sent_at >= now() - INTERVAL 30 DAY
GROUP BY headline, kind
ORDER BY sent DESC
LIMIT 30
