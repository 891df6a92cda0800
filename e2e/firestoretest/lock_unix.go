//go:build unix

package firestoretest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir makes sure that no other server uses the folder. The lock ends with the file, or with the process, however it dies.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("another server uses it: %w", err)
	}
	return f, nil
}
