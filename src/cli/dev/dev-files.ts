import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { DevUpstream } from './dev-options.ts';

/** Where `slipway dev` keeps what it makes. */
export interface DevLayout {
  readonly keys: string;
  readonly adminToken: string;
  /** The token that server and daemon share; the daemon creates it. */
  readonly daemonToken: string;
  readonly upstream: string;
  readonly snapshot: string;
  readonly database: string;
  readonly daemonConfiguration: string;
  readonly serverConfiguration: string;
  readonly summary: string;
}

/** The paths below one data folder. */
export function devLayout(data: string): DevLayout {
  return {
    keys: join(data, 'keys'),
    adminToken: join(data, 'admin.token'),
    daemonToken: join(data, 'daemon.token'),
    upstream: join(data, 'upstream'),
    snapshot: join(data, 'snapshot'),
    database: join(data, 'daemon'),
    daemonConfiguration: join(data, 'daemon.yaml'),
    serverConfiguration: join(data, 'server.yaml'),
    summary: join(data, 'dev.json'),
  };
}

/** Makes the folders and the admin token; a token that is there is kept. */
export async function prepareDevFiles(layout: DevLayout): Promise<void> {
  for (const directory of [layout.keys, layout.snapshot, layout.database])
    await mkdir(directory, { recursive: true, mode: 0o700 });
  await readFile(layout.adminToken).catch(async () => {
    await writeFile(layout.adminToken, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
  });
}

/** Writes the daemon's configuration file. It listens on a free loopback port. */
export async function writeDaemonConfiguration(layout: DevLayout, upstream: DevUpstream): Promise<void> {
  const sections: Record<DevUpstream['kind'], object> = {
    demo: { kind: 'directory', directory: { path: layout.upstream } },
    directory: { kind: 'directory', directory: { path: upstream.kind === 'directory' ? upstream.path : '' } },
    manifest: { kind: 'manifest', manifest: { url: upstream.kind === 'manifest' ? upstream.url : '' } },
    'server-info': {
      kind: 'server-info',
      serverInfo: { url: upstream.kind === 'server-info' ? upstream.url : '' },
    },
  };
  await writeFile(
    layout.daemonConfiguration,
    stringify({
      listen: { host: '127.0.0.1', port: 0 },
      tokenFile: layout.daemonToken,
      snapshot: { root: layout.snapshot },
      data: { dir: layout.database },
      attestation: { signingKeyFiles: [join(layout.keys, 'signing.key')] },
      upstream: sections[upstream.kind],
    }),
  );
}

/** Writes the server's configuration file. */
export async function writeServerConfiguration(
  layout: DevLayout,
  addresses: { readonly port: number; readonly metricsPort: number; readonly daemonUrl: string },
): Promise<void> {
  await writeFile(
    layout.serverConfiguration,
    stringify({
      listen: { host: '127.0.0.1', port: addresses.port },
      metrics: { host: '127.0.0.1', port: addresses.metricsPort },
      publicBaseUrl: `http://127.0.0.1:${addresses.port}`,
      snapshot: { root: layout.snapshot },
      daemon: { url: addresses.daemonUrl, tokenFile: layout.daemonToken },
      attestation: { publicKeyFiles: [join(layout.keys, 'signing.pub')] },
      // A user who can read the token file can also run the daemon by hand.
      admin: { tokenFiles: [layout.adminToken], exposeControl: true },
      // Nobody routes traffic here, so there is no propagation to wait for.
      shutdown: { propagationDelaySeconds: 0 },
      // The command polls readiness; its own lines would drown the others.
      log: { access: 'control' },
    }),
  );
}
