// An S3 server over two folders, built from the published modules of versitygw: what tests of the object store speak to.
package main

import (
	"context"
	"log"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

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
	beside, err := meta.NewSideCar(metadata)
	if err != nil {
		return err
	}
	store, err := posix.New(objects, beside, posix.PosixOpts{SideCarDir: metadata})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(context.Background(), store, &embedgw.Config{
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
