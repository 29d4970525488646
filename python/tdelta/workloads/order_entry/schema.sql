-- Times are seconds since 1970, money is in cents.
CREATE TABLE customers (
    customer_id BIGINT NOT NULL PRIMARY KEY,
    first_name VARCHAR(40) NOT NULL,
    last_name VARCHAR(40) NOT NULL,
    language VARCHAR(3) NOT NULL,
    territory VARCHAR(30) NOT NULL,
    credit_limit_cents BIGINT NOT NULL,
    email VARCHAR(100) NOT NULL,
    account_manager_id BIGINT NOT NULL,
    customer_since BIGINT NOT NULL,
    customer_class VARCHAR(40) NOT NULL,
    suggestions VARCHAR(40) NOT NULL,
    birth_date BIGINT NOT NULL,
    mailshot VARCHAR(1) NOT NULL,
    partner_mailshot VARCHAR(1) NOT NULL,
    preferred_address_id BIGINT NOT NULL,
    preferred_card_id BIGINT
);

CREATE TABLE addresses (
    address_id BIGINT NOT NULL PRIMARY KEY,
    customer_id BIGINT NOT NULL,
    date_created BIGINT NOT NULL,
    house BIGINT NOT NULL,
    street VARCHAR(60) NOT NULL,
    town VARCHAR(60) NOT NULL,
    county VARCHAR(60) NOT NULL,
    country VARCHAR(60) NOT NULL,
    post_code VARCHAR(12) NOT NULL
);

CREATE TABLE warehouses (
    warehouse_id BIGINT NOT NULL PRIMARY KEY,
    warehouse_name VARCHAR(60) NOT NULL,
    location_id BIGINT NOT NULL
);

CREATE TABLE products (
    product_id BIGINT NOT NULL PRIMARY KEY,
    product_name VARCHAR(60) NOT NULL,
    product_description VARCHAR(500) NOT NULL,
    category_id BIGINT NOT NULL,
    weight_kg DOUBLE PRECISION NOT NULL,
    warranty_months BIGINT NOT NULL,
    supplier_id BIGINT NOT NULL,
    product_status VARCHAR(20) NOT NULL,
    list_price_cents BIGINT NOT NULL,
    min_price_cents BIGINT NOT NULL,
    catalog_url VARCHAR(60) NOT NULL
);

CREATE TABLE inventories (
    warehouse_id BIGINT NOT NULL,
    product_id BIGINT NOT NULL,
    quantity_on_hand BIGINT NOT NULL,
    PRIMARY KEY (product_id, warehouse_id)
);

CREATE TABLE orders (
    order_id BIGINT NOT NULL PRIMARY KEY,
    order_date BIGINT NOT NULL,
    order_mode VARCHAR(8) NOT NULL,
    customer_id BIGINT NOT NULL,
    order_status BIGINT NOT NULL,
    order_total_cents BIGINT NOT NULL,
    sales_rep_id BIGINT,
    promotion_id BIGINT,
    warehouse_id BIGINT NOT NULL,
    delivery_type VARCHAR(15) NOT NULL,
    delivery_cents BIGINT NOT NULL,
    delivery_address_id BIGINT NOT NULL,
    customer_class VARCHAR(40) NOT NULL,
    card_id BIGINT NOT NULL
);

CREATE TABLE order_items (
    order_id BIGINT NOT NULL,
    line_item_id BIGINT NOT NULL,
    product_id BIGINT NOT NULL,
    unit_price_cents BIGINT NOT NULL,
    quantity BIGINT NOT NULL,
    dispatch_date BIGINT,
    return_date BIGINT,
    gift_wrap VARCHAR(20) NOT NULL,
    item_condition VARCHAR(20) NOT NULL,
    supplier_id BIGINT NOT NULL,
    estimated_delivery BIGINT NOT NULL,
    PRIMARY KEY (order_id, line_item_id)
);

CREATE INDEX customers_email ON customers (email);
CREATE INDEX customers_account_manager ON customers (account_manager_id);
CREATE INDEX customers_name ON customers (last_name, first_name);
CREATE INDEX addresses_customer ON addresses (customer_id);
CREATE INDEX products_category ON products (category_id);
CREATE INDEX orders_customer ON orders (customer_id);
CREATE INDEX orders_sales_rep ON orders (sales_rep_id);
CREATE INDEX orders_date ON orders (order_date);
CREATE INDEX orders_waiting ON orders (warehouse_id, order_status, order_id);
CREATE INDEX order_items_product ON order_items (product_id);
