-- Instalments overdue
-- Payments whose day has passed and that are not processed: how much, how late, and why.
SELECT
  account,
  amount - coalesce(cut, 0) AS amount,
  date_diff('day', due_at, now()::TIMESTAMP) AS days_late,
  due_at,
  status,
  instalment || ' of ' || instalments AS instalment,
  reason,
  order_id,
  id AS payment
FROM payments
WHERE status IN ('SCHEDULED', 'PENDING', 'FAILED') AND due_at < now()
ORDER BY days_late DESC, amount DESC
LIMIT 500
