-- Why payments fail
-- Failed payments by the gateway's reason: how many, how much, and how many tries they took so far.
SELECT
  coalesce(nullif(reason, ''), 'no reason given') AS reason,
  count(*) AS payments,
  sum(amount - coalesce(cut, 0)) AS amount,
  round(avg(tries), 1) AS average_tries,
  count(DISTINCT account) AS accounts,
  max(due_at) AS last_due
FROM payments
WHERE status = 'FAILED'
GROUP BY 1
ORDER BY payments DESC
