// An S3 server over two folders, built from the published modules of versitygw: what tests of the object store speak to.
package main

import (
	"context"
	"log"
	"os"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3response"
)

// store answers a get with one put as a whole, as S3 does. versitygw reads an object's content and what it keeps beside
// it one after the other, so that a put in between gives old content the new ETag, and two writers lose commits.
type store struct {
	*posix.Posix
	turn sync.RWMutex
}

func (s *store) GetObject(ctx context.Context, asked *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	s.turn.RLock()
	defer s.turn.RUnlock()
	return s.Posix.GetObject(ctx, asked)
}

func (s *store) PutObject(ctx context.Context, given s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.Posix.PutObject(ctx, given)
}

// s3-server OBJECTS METADATA HOST:PORT: serves the folder OBJECTS, whose folders are buckets, to the one user whose keys
// are ROOT_ACCESS_KEY and ROOT_SECRET_KEY.
func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: s3-server OBJECTS METADATA HOST:PORT")
	}
	if err := serve(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func serve(objects, metadata, place string) error {
	// Not every file system of a test's folder has extended attributes.
	beside, err := meta.NewSideCar(metadata)
	if err != nil {
		return err
	}
	files, err := posix.New(objects, beside, posix.PosixOpts{SideCarDir: metadata})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(context.Background(), &store{Posix: files}, &embedgw.Config{
		RootUserAccess:    os.Getenv("ROOT_ACCESS_KEY"),
		RootUserSecret:    os.Getenv("ROOT_SECRET_KEY"),
		Ports:             []string{place},
		MaxConnections:    256,
		MaxRequests:       256,
		MultipartMaxParts: 10000,
		HealthPath:        "/healthz",
		KeepAlive:         true,
		Quiet:             true,
	})
}
