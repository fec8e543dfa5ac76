// Downloads the release that a Slipway server serves, and checks each file.
//
//	go run download.go http://127.0.0.1:8080 FOLDER
//
// Files that are there already are kept if their digests are right. Run it again after an interruption: it resumes.
//
// It needs only the standard library, and so checks CRC-64, which finds damage. To find tampering too, check BLAKE3:
// lukechampine.com/blake3 is a hash.Hash as well.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	attempts = 5
	// How long the server may send nothing.
	patience = time.Minute
)

// errRefused says that the server refused a request. To send it again would change nothing.
var errRefused = errors.New("refused")

// watched is a body whose request is cancelled when the server sends nothing for too long.
type watched struct {
	io.ReadCloser
	timer *time.Timer
}

func (body watched) Read(piece []byte) (int, error) {
	body.timer.Reset(patience)
	return body.ReadCloser.Read(piece)
}

func (body watched) Close() error {
	body.timer.Stop()
	return body.ReadCloser.Close()
}

type entry struct {
	Destination string `json:"destination"`
	Size        int64  `json:"size"`
	Blake3      string `json:"blake3"`
	Crc64       string `json:"crc64"`
}

// get sends a GET. After a 429 or 503 it waits as long as the server asks for, and tries again.
func get(address string, headers map[string]string) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(patience, cancel)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		response.Body = watched{response.Body, timer}
		if response.StatusCode < 300 {
			return response, nil
		}
		why, _ := io.ReadAll(response.Body)
		response.Body.Close()
		mayPass := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
		if !mayPass || attempt == attempts {
			return nil, fmt.Errorf("%w: %s: %s %s", errRefused, address, response.Status, why)
		}
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if err != nil {
			seconds = 1 << attempt
		}
		time.Sleep(time.Duration(seconds) * time.Second)
	}
}

func getJSON(address string, into any) error {
	response, err := get(address, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into)
}

// eachEntry lists the entries of a release, 1,000 in each page.
func eachEntry(server, releaseID string, use func(entry) error) error {
	offset := int64(0)
	for next := &offset; next != nil; {
		var page struct {
			Items      []entry `json:"items"`
			NextOffset *int64  `json:"next_offset"`
		}
		query := url.Values{"release_id": {releaseID}, "offset": {strconv.FormatInt(*next, 10)}, "limit": {"1000"}}
		if err := getJSON(server+"/v1/distribution?"+query.Encode(), &page); err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := use(item); err != nil {
				return err
			}
		}
		next = page.NextOffset
	}
	return nil
}

func sizeOf(path string) int64 {
	if info, err := os.Stat(path); err == nil {
		return info.Size()
	}
	return 0
}

func isRight(path string, e entry) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	hash := crc64.New(crc64.MakeTable(crc64.ECMA))
	size, err := io.Copy(hash, file)
	return err == nil && size == e.Size && strconv.FormatUint(hash.Sum64(), 10) == e.Crc64
}

// download downloads a file, or the rest of one. The entity tag of a file is its BLAKE3.
func download(address, part string, e entry) error {
	have := sizeOf(part)
	if have == e.Size && have > 0 {
		return nil
	}
	headers := map[string]string{}
	if have > 0 && have < e.Size {
		headers["Range"] = fmt.Sprintf("bytes=%d-", have)
		headers["If-Range"] = `"` + e.Blake3 + `"`
	}
	response, err := get(address, headers)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// 206 is the rest; 200 is the whole file.
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if response.StatusCode == http.StatusPartialContent {
		flags = os.O_WRONLY | os.O_APPEND
	}
	file, err := os.OpenFile(part, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, response.Body)
	return errors.Join(err, file.Close())
}

// fetchEntry brings a file into the folder and returns whether it was downloaded.
func fetchEntry(root, folder string, e entry) (bool, error) {
	if !filepath.IsLocal(e.Destination) {
		return false, fmt.Errorf("the server names a path outside the folder: %s", e.Destination)
	}
	path := filepath.Join(folder, filepath.FromSlash(e.Destination))
	if isRight(path, e) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	segments := strings.Split(e.Destination, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	part := path + ".part"
	var err error
	for attempt := range attempts {
		if attempt > 0 {
			time.Sleep(time.Second << (attempt - 1))
		}
		err = download(root+"/"+strings.Join(segments, "/"), part, e)
		if errors.Is(err, errRefused) {
			return false, err
		}
		if err != nil {
			// The connection broke; the next attempt resumes.
			continue
		}
		if isRight(part, e) {
			return true, os.Rename(part, path)
		}
		err = fmt.Errorf("%s: the digest is wrong", e.Destination)
		if sizeOf(part) >= e.Size {
			os.Remove(part)
		}
	}
	return false, err
}

func run(server, folder string) error {
	var bootstrap struct {
		CDN     struct{ Root string }
		Release struct {
			ID    string `json:"release_id"`
			Count int    `json:"entry_count"`
		}
	}
	if err := getJSON(server+"/v1/bootstrap", &bootstrap); err != nil {
		return err
	}
	fmt.Printf("release %s: %d files\n", bootstrap.Release.ID, bootstrap.Release.Count)
	downloaded, kept := 0, 0
	err := eachEntry(server, bootstrap.Release.ID, func(e entry) error {
		isNew, err := fetchEntry(bootstrap.CDN.Root, folder, e)
		if isNew {
			downloaded++
		} else {
			kept++
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("downloaded %d, kept %d\n", downloaded, kept)
	// What a launcher asks.
	var config struct {
		Data struct {
			Version string `json:"game_latest_version"`
			Size    string `json:"decompression_size"`
		}
	}
	if err := getJSON(server+"/api/launcher/game/config", &config); err != nil {
		return err
	}
	fmt.Printf("launcher: version %s, %s\n", config.Data.Version, config.Data.Size)
	return nil
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
