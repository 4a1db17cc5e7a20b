-- Price history of a deal
-- Every price that a deal has had. Put its id in place of the line with LIMIT 1; as it stands: the one changed most.
WITH
  chosen AS (
    SELECT id FROM deals_history GROUP BY id ORDER BY count(DISTINCT price) DESC, id DESC LIMIT 1
  ),
  changes AS (
    SELECT changed_at, price, title, lag(price) OVER (ORDER BY sequence) AS price_before, sequence
    FROM deals_history
    WHERE id IN (SELECT id FROM chosen) AND change = 'put'
  )
SELECT changed_at, price, price_before, title
FROM changes
WHERE price IS DISTINCT FROM price_before
ORDER BY sequence
