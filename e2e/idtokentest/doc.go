// Package idtokentest imitates Google's issuer of identity tokens on a loopback address: discovery document, key set,
// tokens as Cloud Scheduler and Workflows send them, the metadata server that hands them out inside Google Cloud, and the
// front end of Cloud Run that checks a token and takes its signature away. It is for tests and for the stack on one machine.
//
// Where it differs from the real service:
//   - The iss claim says https://accounts.google.com, but discovery and keys are served from URL; a verifier is given the key
//     set's address, or told by its library to accept another issuer.
//   - There is one RSA key until Rotate is called; Google has several, and rotates when it likes. Keys are served with a
//     Cache-Control of MaxAge and nothing counts on it.
//   - The metadata server has one service account under the names default and its e-mail address. Identity tokens always
//     have email and email_verified, as on Cloud Run; a VM wants format=full for them. Access tokens are opaque texts that no
//     service here checks. Paths that are not imitated answer 404.
//   - Anybody can have a token for any account. Authentication is what is tested, not what this package does.
package idtokentest
