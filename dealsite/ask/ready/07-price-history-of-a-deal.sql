-- Price history of a deal
-- Every price that a deal has had. Put its id in place of the line with LIMIT 1; as it stands: the one changed most.
WITH chosen AS (
  SELECT deal FROM prices GROUP BY deal ORDER BY count(*) DESC, deal DESC LIMIT 1
)
SELECT since, price, lag(price) OVER (ORDER BY since, id) AS price_before, new_seller
FROM prices
WHERE deal IN (SELECT deal FROM chosen)
ORDER BY since, id
