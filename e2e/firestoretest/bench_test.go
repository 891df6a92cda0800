package firestoretest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore"
)

// BenchmarkCommit is one create after the other by the real client, from several goroutines.
func BenchmarkCommit(b *testing.B) {
	for name, dir := range map[string]bool{"memory": false, "disk": true} {
		b.Run(name, func(b *testing.B) {
			cfg := Config{}
			if dir {
				cfg.Dir = b.TempDir()
			}
			_, c := start(b, cfg)
			var n atomic.Int64
			b.SetParallelism(8)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if _, err := c.Doc(fmt.Sprintf("c/%d", n.Add(1))).Create(b.Context(), map[string]any{"v": 1}); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkQuery asks for fifty of a hundred thousand documents.
func BenchmarkQuery(b *testing.B) {
	_, c := start(b, Config{})
	fill(b.Context(), b, c, 100_000, func(i int) map[string]any { return map[string]any{"v": i * 7919 % 100_000, "w": i % 10} })
	for name, q := range map[string]firestore.Query{
		"order":       c.Collection("many").OrderBy("v", firestore.Desc).Limit(50),
		"equal-order": c.Collection("many").Where("w", "==", 3).OrderBy("v", firestore.Asc).Limit(50),
		"range":       c.Collection("many").Where("v", ">", 99_000).Limit(50),
		"name":        c.Collection("many").OrderBy(firestore.DocumentID, firestore.Asc).Limit(50),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if docs, err := q.Documents(b.Context()).GetAll(); err != nil || len(docs) != 50 {
					b.Fatalf("got %d documents, %v", len(docs), err)
				}
			}
		})
	}
}
