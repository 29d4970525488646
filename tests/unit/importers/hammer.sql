PRAGMA page_size=512;
CREATE TABLE JOBMAIN(jobid TEXT primary key, db TEXT, bm TEXT, jobdict TEXT, timestamp DATETIME NOT NULL DEFAULT (datetime(CURRENT_TIMESTAMP, 'localtime')),profile_id INTEGER NOT NULL DEFAULT 0);
CREATE TABLE JOBTIMING(jobid TEXT, vu INTEGER, procname TEXT, calls INTEGER, min_ms REAL, avg_ms REAL, max_ms REAL, total_ms REAL, p99_ms REAL, p95_ms REAL, p75_ms REAL, p50_ms REAL, p25_ms REAL, sd REAL, ratio_pct REAL, summary INTEGER, elapsed_ms REAL, FOREIGN KEY(jobid) REFERENCES JOBMAIN(jobid));
CREATE TABLE JOBTCOUNT(jobid TEXT, counter INTEGER, metric TEXT, timestamp DATETIME NOT NULL DEFAULT (datetime(CURRENT_TIMESTAMP, 'localtime')), FOREIGN KEY(jobid) REFERENCES JOBMAIN(jobid));
CREATE TABLE JOBOUTPUT(jobid TEXT, vu INTEGER, output TEXT);
CREATE INDEX JOBMAIN_IDX ON JOBMAIN(jobid);
INSERT INTO JOBMAIN VALUES
 ('B2', 'MariaDB', 'TPC-C', 'connection {maria_host localhost} tpcc {maria_count_ware 5 maria_driver timed maria_rampup 1 maria_duration 1 maria_timeprofile true}', '2026-11-20 08:00:00', 0),
 ('A1', 'MariaDB', 'TPC-C', 'connection {maria_host localhost} tpcc {maria_count_ware 5 maria_driver test}', '2026-11-20 07:00:00', 0),
 ('C3', 'MariaDB', 'TPC-H', '', '2026-11-20 09:00:00', 0);
INSERT INTO JOBOUTPUT VALUES
 ('B2', 1, '2 Active Virtual Users configured'),
 ('B2', 1, 'TEST RESULT : System achieved 128160 NOPM from 298380 MariaDB TPM'),
 ('B2', 0, 'ALL VIRTUAL USERS COMPLETE'),
 ('A1', 1, '2 Active Virtual Users configured'),
 ('A1', 1, 'TEST RESULT : System achieved 120000 NOPM from 279000 MariaDB TPM'),
 ('C3', 1, 'Completed 1 query set(s) in 35 seconds');
INSERT INTO JOBTCOUNT VALUES
 ('B2', 120000, 'tpm', '2026-11-20 08:00:06'), ('B2', 240000, 'tpm', '2026-11-20 08:00:16'),
 ('B2', 270000, 'tpm', '2026-11-20 08:00:26'), ('B2', 280000, 'tpm', '2026-11-20 08:00:36'),
 ('B2', 285000, 'tpm', '2026-11-20 08:00:46'), ('B2', 290000, 'tpm', '2026-11-20 08:00:56'),
 ('B2', 297000, 'tpm', '2026-11-20 08:01:06'), ('B2', 300000, 'tpm', '2026-11-20 08:01:16'),
 ('B2', 306000, 'tpm', '2026-11-20 08:01:26'), ('B2', 294000, 'tpm', '2026-11-20 08:01:36'),
 ('B2', 300600, 'tpm', '2026-11-20 08:01:46'), ('B2', 299400, 'tpm', '2026-11-20 08:01:56'),
 ('B2', 297600, 'tpm', '2026-11-20 08:02:06'), ('B2', 89000, 'tpm', '2026-11-20 08:02:16'),
 ('B2', 0, 'tpm', '2026-11-20 08:02:26'), ('C3', 100, 'qph', '2026-11-20 09:00:06');
INSERT INTO JOBTIMING(jobid,vu,procname,calls,min_ms,avg_ms,max_ms,total_ms,p99_ms,p95_ms,p75_ms,p50_ms,p25_ms,sd,ratio_pct,summary,elapsed_ms) VALUES
 ('B2', 2, 'NEWORD', 45000, 0.412, 2.7, 40.1, 121500.0, 7.8, 5.3, 3.2, 2.5, 1.9, 1.56, 101.25, 0, 120000.0),
 ('B2', 3, 'NEWORD', 45210, 0.42, 2.76186, 41.9, 124863.69, 8.0, 5.32, 3.2, 2.54, 1.95, 1.58, 104.05, 0, 120000.0),
 ('B2', 2, 'NEWORD', 90210, 0.412, 2.731, 41.9, 246363.5, 7.9, 5.31, 3.2, 2.52, 1.93, 1.57, 102.65, 1, 120000.0),
 ('A1', 2, 'NEWORD', 1000, 1.0, 4.0, 50.0, 4000.0, 14.0, 7.0, NULL, 3.8, NULL, 3100.0, 40.0, 0, 10000.0),
 ('A1', 3, 'NEWORD', 3000, 0.9, 6.0, 60.0, 18000.0, 15.0, 8.0, NULL, 4.9, NULL, 3300.0, 60.0, 0, 10000.0),
 ('A1', 2, 'NEWORD', 3000, 0.9, 6.0, 60.0, 18000.0, 15.0, 8.0, NULL, 4.9, NULL, 3300.0, 60.0, 1, 10000.0);
