import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildBento } from './build-bento.ts';

test('without Go, one is told what to install', async () => {
  await assert.rejects(
    buildBento(() => undefined, '/nowhere/go'),
    {
      message:
        'Go is missing: this bench builds Bento from its Go modules. Install Go 1.26 or newer (https://go.dev/dl), so that `go version` works, and run it again',
    },
  );
});
