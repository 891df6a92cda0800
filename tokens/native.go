package tokens

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
)

// base is RFC 4648's base32 in lower case: letters and 2 to 7, in every alphabet that an API asks for.
var base = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// digest is the SHA-256 of s in 52 characters of a-z2-7.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base.EncodeToString(sum[:])
}

// Label returns the token as a label value or key: 53 characters, "t" and the SHA-256 of the token in base32. Labels hold
// at most 63 of [a-z0-9_-], and keys start with a letter; a run id in hex would have 64.
func Label(token string) string { return "t" + digest(token) }

// UUID returns the token as a UUID for fields that want one (requestId of Compute Engine and Batch): version 8 of RFC 9562,
// the first 128 bits of the token's SHA-256 with the six bits of version and variant set. 122 bits are left, and it is never
// the zero UUID, which those APIs refuse.
func UUID(token string) string {
	u := sha256.Sum256([]byte(token))
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	h := hex.EncodeToString(u[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// BigQueryJobID returns the token as jobReference.jobId: 60 characters; BigQuery takes 1024 of [A-Za-z0-9_-]. A second
// insert answers 409, and the job is then read under that id. The id of a job that failed is used up, see
// BigQueryJobIDAfter.
func BigQueryJobID(token string) string { return "runonce_" + digest(token) }

// BigQueryJobIDAfter returns the job id to use once failed jobs of this token have failed for good; 0 gives BigQueryJobID.
// Count what BigQuery says of the ids before it, never the attempts of the step: an attempt that was taken over may have a
// job that runs.
func BigQueryJobIDAfter(token string, failed int) string {
	if failed <= 0 {
		return BigQueryJobID(token)
	}
	return fmt.Sprintf("%s_%d", BigQueryJobID(token), failed)
}

// TaskID returns the token as the id of a Cloud Task: 52 characters; the service takes 500 of [A-Za-z0-9_-] and asks for
// ids that do not share a prefix. A second create answers ALREADY_EXISTS, up to 24 hours after the task is gone.
func TaskID(token string) string { return digest(token) }

// TaskName returns the full name of that task in a queue, projects/P/locations/L/queues/Q.
func TaskName(queue, token string) string { return queue + "/tasks/" + TaskID(token) }

// BatchID returns the token as a resource id that the caller may choose, such as a Batch job's: 53 characters of [a-z2-7],
// the first a letter. Batch takes 63 of [a-z0-9-] that start with a letter and do not end in a hyphen. A second create
// answers 409 as long as the resource exists.
func BatchID(token string) string { return "t" + digest(token) }

// RequestID40 returns the token for Dataproc's requestId: 40 characters, which is what it takes, of [a-z2-7]. 200 bits of
// the token's SHA-256 are left.
func RequestID40(token string) string { return digest(token)[:40] }

// RequestID36 returns the token for the requestId of BigQuery's jobs.query: 36 characters, which is what it takes, of
// [a-z2-7]. 180 bits of the token's SHA-256 are left. BigQuery remembers it for 15 minutes only.
func RequestID36(token string) string { return digest(token)[:36] }
