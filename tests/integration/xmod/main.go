// Reads a static log with golang.org/x/mod: its note, tiles, every entry, proofs, a receipt, and cosignatures.
//
// xmod FOLDER LOG-KEY RECEIPT OLDER-CHECKPOINT [WITNESS-KEY...] prints what it found on one line, or what is wrong.
// The standard verifier of x/mod knows one kind of key; the other kind, a witness's, is the interface it asks for.
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type witness struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (w witness) Name() string    { return w.name }
func (w witness) KeyHash() uint32 { return w.hash }
func (w witness) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	head := fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(sig[:8]))
	return ed25519.Verify(w.key, append([]byte(head), msg...), sig[8:])
}

func newWitness(text string) witness {
	parts := strings.SplitN(text, "+", 3)
	data, err := base64.StdEncoding.DecodeString(parts[2])
	check(err)
	if len(data) != 33 || data[0] != 4 {
		log.Fatalf("%s is no witness's key", text)
	}
	sum := sha256.Sum256(append([]byte(parts[0]+"\n"), data...))
	hash := binary.BigEndian.Uint32(sum[:4])
	if fmt.Sprintf("%08x", hash) != parts[1] {
		log.Fatalf("%s has another key id", text)
	}
	return witness{parts[0], hash, data[1:]}
}

// files has the tiles where c2sp.org/tlog-tiles puts them: x/mod's own paths name the height as well.
type files string

func (f files) Height() int                               { return 8 }
func (f files) SaveTiles(tiles []tlog.Tile, data [][]byte) {}
func (f files) ReadTiles(tiles []tlog.Tile) (data [][]byte, err error) {
	for _, t := range tiles {
		read, err := os.ReadFile(filepath.Join(string(f), strings.Replace(t.Path(), "tile/8/", "tile/", 1)))
		if err != nil {
			return nil, err
		}
		data = append(data, read)
	}
	return data, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func tree(text string) (origin string, t tlog.Tree) {
	lines := strings.Split(text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	hash, err := tlog.ParseHash(lines[2])
	check(err)
	return lines[0], tlog.Tree{N: size, Hash: hash}
}

func open(data []byte, verifiers note.Verifiers) (*note.Note, tlog.Tree) {
	signed, err := note.Open(data, verifiers)
	check(err)
	_, t := tree(signed.Text)
	return signed, t
}

func entries(folder string, size int64) (all [][]byte) {
	for n := int64(0); n*256 < size; n++ {
		t := tlog.Tile{H: 8, L: 0, N: n, W: 256}
		if size-n*256 < 256 {
			t.W = int(size - n*256)
		}
		data, err := os.ReadFile(filepath.Join(folder, strings.Replace(t.Path(), "tile/8/0/", "tile/entries/", 1)))
		check(err)
		for len(data) > 0 {
			length := 2 + int(binary.BigEndian.Uint16(data))
			all = append(all, data[2:length])
			data = data[length:]
		}
	}
	return all
}

func main() {
	log.SetFlags(0)
	folder, older := os.Args[1], os.Args[4]
	verifier, err := note.NewVerifier(os.Args[2])
	check(err)
	known := []note.Verifier{verifier}
	for _, text := range os.Args[5:] {
		known = append(known, newWitness(text))
	}
	verifiers := note.VerifierList(known...)

	data, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	check(err)
	signed, now := open(data, verifiers)
	reader := tlog.TileHashReader(now, files(folder))
	all := entries(folder, now.N)
	if int64(len(all)) != now.N {
		log.Fatalf("%d entries of %d", len(all), now.N)
	}
	for n, entry := range all {
		proof, err := tlog.ProveRecord(now.N, int64(n), reader)
		check(err)
		check(tlog.CheckRecord(proof, now.N, now.Hash, int64(n), tlog.RecordHash(entry)))
	}

	data, err = os.ReadFile(older)
	check(err)
	_, then := open(data, verifiers)
	proof, err := tlog.ProveTree(now.N, then.N, reader)
	check(err)
	check(tlog.CheckTree(proof, now.N, now.Hash, then.N, then.Hash))

	data, err = os.ReadFile(os.Args[3])
	check(err)
	head, rest, _ := strings.Cut(string(data), "\n\n")
	_, of := open([]byte(rest), verifiers)
	lines := strings.Split(head, "\n")
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	check(err)
	var path tlog.RecordProof
	for _, line := range lines[2:] {
		hash, err := tlog.ParseHash(line)
		check(err)
		path = append(path, hash)
	}
	check(tlog.CheckRecord(path, of.N, of.Hash, index, tlog.RecordHash(all[index])))
	fmt.Printf("%d entries, %d signatures, extends %d, receipt of %d\n", now.N, len(signed.Sigs), then.N, index)
}
