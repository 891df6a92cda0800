package firestoretest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"
)

// logFile keeps commits in an append-only file: a header of length and checksum, then the commit's time and its writes. A record is
// written under the store's mutex, so a killed process loses no answered commit, and synced before the answer, so a lost machine does
// not either; commits that meet share one sync. A torn record at the end, which was never answered, is cut off on the next start.
type logFile struct {
	file *os.File
	lock *os.File // of the folder
	end  int64    // guarded by the store's mutex

	mu     sync.Mutex // serializes syncs
	synced int64
	broken error // the first failure; nothing is accepted after it
}

const (
	logName    = "firestore.log"
	headerSize = 8
	maxRecord  = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openStore makes the store of a configuration, with the documents of an earlier process when there is a folder.
func openStore(cfg Config) (*store, error) {
	s := newStore(cfg)
	if cfg.Dir == "" {
		return s, nil
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", cfg.Dir, err)
	}
	path := filepath.Join(cfg.Dir, logName)
	last, err := s.replay(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), lock.Close())
	}
	s.clock.atLeast(last)
	s.horizon = s.clock.commit()
	if s.log, err = s.rewrite(path); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", path, err), lock.Close())
	}
	s.log.lock = lock
	return s, nil
}

// replay puts the logged documents into the store, up to the first record that is not whole.
func (s *store) replay(path string) (last stamp, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for {
		at, writes, err := readRecord(in)
		if err != nil {
			return last, err
		}
		if writes == nil {
			return last, nil
		}
		for _, w := range writes {
			if d := w.GetUpdate(); d != nil {
				s.put(d.Name, d, at)
			} else {
				s.put(w.GetDelete(), nil, at)
			}
		}
		last = max(last, at)
	}
}

// readRecord returns nil writes at the end, be it clean or torn.
func readRecord(in io.Reader) (stamp, []*pb.Write, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, ignoreEnd(err)
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n < 8 || n > maxRecord {
		return 0, nil, nil
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(in, body); err != nil {
		return 0, nil, ignoreEnd(err)
	}
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return 0, nil, nil
	}
	var r pb.CommitRequest
	if err := proto.Unmarshal(body[8:], &r); err != nil {
		return 0, nil, err
	}
	return stamp(binary.LittleEndian.Uint64(body)), r.Writes, nil
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

func record(at stamp, changes []change) ([]byte, error) {
	r := &pb.CommitRequest{}
	for _, c := range changes {
		w := &pb.Write{Operation: &pb.Write_Delete{Delete: c.name}}
		if c.after != nil {
			w.Operation = &pb.Write_Update{Update: c.after}
		}
		r.Writes = append(r.Writes, w)
	}
	buf := binary.LittleEndian.AppendUint64(make([]byte, headerSize, 256), uint64(at))
	buf, err := proto.MarshalOptions{}.MarshalAppend(buf, r)
	if err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint32(buf, uint32(len(buf)-headerSize))
	binary.LittleEndian.PutUint32(buf[4:], crc32.Checksum(buf[headerSize:], castagnoli))
	return buf, nil
}

// rewrite starts a new log with the documents as they are, in place of the old one, which it replaces in one step.
func (s *store) rewrite(path string) (*logFile, error) {
	f, err := os.Create(path + ".new")
	if err != nil {
		return nil, err
	}
	l := &logFile{file: f}
	out := bufio.NewWriter(f)
	for _, d := range s.docs {
		body := d.current()
		if body == nil {
			continue
		}
		buf, err := record(fromProto(body.UpdateTime), []change{{name: d.name, after: body}})
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		l.end += int64(len(buf))
		if _, err := out.Write(buf); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if err := l.install(out, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

func (l *logFile) install(out *bufio.Writer, path string) error {
	if err := out.Flush(); err != nil {
		return err
	}
	if err := l.sync(l.end); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// append writes a commit and returns the position to sync. Called with the store's mutex held; nil keeps nothing.
func (l *logFile) append(at stamp, changes []change) (int64, error) {
	if l == nil {
		return 0, nil
	}
	buf, err := record(at, changes)
	if err != nil {
		return 0, err
	}
	if _, err := l.file.WriteAt(buf, l.end); err != nil {
		return 0, err // the next record is written over the torn one
	}
	l.end += int64(len(buf))
	return l.end, nil
}

// sync returns when the log up to pos is on disk.
func (l *logFile) sync(pos int64) error {
	if l == nil || pos == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.synced >= pos || l.broken != nil {
		return l.broken
	}
	info, err := l.file.Stat()
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.broken = fmt.Errorf("sync the log: %w", err)
		return l.broken
	}
	l.synced = info.Size()
	return nil
}

func (l *logFile) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.file.Close(), l.lock.Close())
}
