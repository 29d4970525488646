-- A customer looks at the details held, and changes e-mail address, credit limit and preferred address.
\set customer_id 1 + permute(random_exponential(1, :rows_customers, 3.0) - 1, :rows_customers)
\set email random_string(20, 30)
\set credit_limit random(10000, 500000)
SELECT customer_id, first_name, last_name, email, credit_limit_cents, preferred_address_id
FROM customers WHERE customer_id = :customer_id;
BEGIN;
SELECT MAX(address_id) AS address_id FROM addresses WHERE customer_id = :customer_id \gset
UPDATE customers
SET email = :email, credit_limit_cents = :credit_limit, preferred_address_id = :address_id
WHERE customer_id = :customer_id;
COMMIT;
