// Bento as it comes, with the components that the bench of peers uses and no others:
// a whole Bento has hundreds, and takes many minutes to build.
package main

import (
	"context"

	// HMAC in Bloblang.
	_ "github.com/warpstreamlabs/bento/public/components/crypto"
	// http_client.
	_ "github.com/warpstreamlabs/bento/public/components/io"
	// kafka_franz.
	_ "github.com/warpstreamlabs/bento/public/components/kafka"
	// mapping, fallback, broker, switch.
	_ "github.com/warpstreamlabs/bento/public/components/pure"
	"github.com/warpstreamlabs/bento/public/service"
)

func main() {
	service.RunCLI(context.Background())
}
