import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../src/platform/errors.ts';
import { findBelowRoot } from '../src/platform/files/below-root.ts';
import { parseOptions } from '../src/platform/terminal/parse-options.ts';
import { usageError } from '../src/platform/terminal/usage-error.ts';
import { runManifest } from '../src/upstream/release-file/run-manifest.ts';
import { writeDemoRelease } from './demo-release.ts';
import type { DevIo } from './dev-options.ts';
import { DEMO_RELEASE_IDS } from './game/demo-story.ts';

const USAGE = `Usage: slipway dev upstream [--release 1] [--host 127.0.0.1] [--port 9000] [--data upstream]

Serves a generated release over HTTP: an upstream of the kind manifest, for trying Slipway on another machine or in a cluster.

  --release N   1, 2 or 3: the demo releases, each with some changes to the one before
  --host HOST   address to listen on
  --port N      port to listen on; 0 picks a free one
  --data DIR    folder that the release is written to
`;

/**
 * Runs `slipway dev upstream`: writes a demo release and serves it until it is stopped.
 *
 * @param args the command line after `dev upstream`
 * @returns the exit code: 0 when it was stopped, 1 when it cannot serve, 2 for wrong arguments
 */
export async function runUpstream(args: readonly string[], io: DevIo): Promise<number> {
  if (args.includes('--help')) {
    io.stdout.write(USAGE);
    return 0;
  }
  const parsed = parseOptions({
    args: [...args],
    options: {
      release: { type: 'string', default: '1' },
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '9000' },
      data: { type: 'string', default: 'upstream' },
    },
  });
  if (!parsed.ok) {
    io.stderr.write(usageError('slipway dev upstream', parsed.error));
    return 2;
  }
  const { release, host, port, data } = parsed.value.values;
  const releaseId = DEMO_RELEASE_IDS[Number(release) - 1];
  if (releaseId === undefined || !/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    const problem =
      releaseId === undefined
        ? `--release ${release}: give a number from 1 to ${DEMO_RELEASE_IDS.length}`
        : `--port ${port}: give a number from 0 to 65535`;
    io.stderr.write(usageError('slipway dev upstream', problem));
    return 2;
  }
  try {
    const root = resolve(data);
    await writeDemoRelease(root, releaseId);
    // Daemons check the digests that it lists.
    const appVersion = releaseId.slice(0, releaseId.indexOf('-'));
    const listing = [root, '--release', releaseId, '--app-version', appVersion];
    const code = await runManifest(listing, { ...io, progress: { show: () => {}, end: () => {} } });
    if (code !== 0) return io.signal.aborted ? 0 : code;
    await using server = serveFolder(root);
    server.listen(Number(port), host);
    await once(server, 'listening', { signal: io.signal });
    const at = server.address() as AddressInfo;
    io.stdout.write(`${releaseId} is served on port ${at.port}\n`);
    await once(io.signal, 'abort');
    server.closeAllConnections();
    return 0;
  } catch (error) {
    if (io.signal.aborted) return 0;
    io.stderr.write(`slipway dev upstream: ${messageOf(error)}\n`);
    return 1;
  }
}

function serveFolder(root: string): Server {
  return createServer((request, response) => {
    const send = async (): Promise<void> => {
      const { pathname } = new URL(request.url ?? '/', 'http://upstream');
      const path = await findBelowRoot(root, decodeURIComponent(pathname.slice(1)));
      if (path === null) {
        response.writeHead(404).end();
        return;
      }
      response.setHeader('content-length', (await stat(path)).size);
      if (request.method === 'HEAD') response.end();
      else await pipeline(createReadStream(path), response);
    };
    send().catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(404).end();
    });
  });
}
