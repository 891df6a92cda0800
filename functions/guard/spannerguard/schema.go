package spannerguard

import "fmt"

// Schema is the DDL of the table that records are kept in. Rows are deleted by Spanner after expire_at, late and never
// decisively: no decision of guard depends on it.
func Schema(table string) string {
	return fmt.Sprintf(`CREATE TABLE %s (
  id STRING(64) NOT NULL,
  version STRING(64) NOT NULL,
  updated_at TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true),
  expire_at TIMESTAMP NOT NULL,
  token STRING(MAX) NOT NULL,
  status STRING(32) NOT NULL,
  fence INT64 NOT NULL,
  record STRING(MAX) NOT NULL,
  input BYTES(MAX),
  body BYTES(MAX),
) PRIMARY KEY (id), ROW DELETION POLICY (OLDER_THAN(expire_at, INTERVAL 0 DAY))`, table)
}

// columns in the order in which row writes them. token, status and fence are for people's queries; record holds them too.
var columns = []string{"id", "version", "updated_at", "expire_at", "token", "status", "fence", "record", "input", "body"}

// maxCell is the most bytes that a BYTES value may have.
const maxCell = 10 << 20
