-- A new customer with a first address, and the welcome page that reads both back.
\set customer_id :rows_customers + :op
\set address_id :rows_addresses + :op
\set now 1704067200 + :op
\set first_name random_string(4, 10)
\set last_name random_string(5, 13)
\set email random_string(20, 30)
\set credit_limit random(10000, 500000)
\set manager random(1, 1000)
\set birth_date random(-788918400, 1135987200)
\set house random(1, 250)
\set street random_string(10, 20)
\set town random_string(5, 14)
\set post_code random_string(7, 7)
BEGIN;
INSERT INTO customers (
    customer_id, first_name, last_name, language, territory, credit_limit_cents, email, account_manager_id, customer_since,
    customer_class, suggestions, birth_date, mailshot, partner_mailshot, preferred_address_id, preferred_card_id
) VALUES (
    :customer_id, :first_name, :last_name, 'en', 'AMERICA', :credit_limit, :email, :manager, :now,
    'Occasional', 'none yet', :birth_date, 'Y', 'N', :address_id, NULL
);
INSERT INTO addresses (
    address_id, customer_id, date_created, house, street, town, county, country, post_code
) VALUES (
    :address_id, :customer_id, :now, :house, :street, :town, 'harbour', 'United States', :post_code
);
COMMIT;
SELECT customer_id, first_name, last_name, email, credit_limit_cents, customer_class
FROM customers WHERE customer_id = :customer_id;
SELECT address_id, house, street, town, post_code FROM addresses WHERE customer_id = :customer_id;
