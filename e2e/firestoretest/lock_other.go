//go:build !unix

package firestoretest

import (
	"os"
	"path/filepath"
)

// lockDir opens the file that is locked elsewhere; here nothing keeps two servers apart.
func lockDir(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
}
