import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { DEMO_LOCALIZED } from './game/demo-localized.ts';
import { demoParseSection } from './game/demo-parse-section.ts';
import { DEMO_PROVIDER, type DemoProvider } from './demo-provider.ts';
import { demoUpstreamPath } from './demo-upstream.ts';
import type { DevOptions } from './dev-options.ts';
import { upstreamSection } from './dev-upstream.ts';

/** Where `slipway dev` keeps what it makes. */
export interface DevLayout {
  readonly keys: string;
  readonly adminToken: string;
  /** The token that server and daemon share; the daemon creates it. */
  readonly daemonToken: string;
  /** The trees of the demo releases. */
  readonly upstream: string;
  /** The schema of the FlatBuffers table in the demo releases. */
  readonly demoSchema: string;
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
    demoSchema: join(data, 'demo-dialog.bfbs'),
    snapshot: join(data, 'snapshot'),
    database: join(data, 'daemon'),
    daemonConfiguration: join(data, 'daemon.yaml'),
    serverConfiguration: join(data, 'server.yaml'),
    summary: join(data, 'dev.json'),
  };
}

/**
 * Makes the data folder. A new one tells git to ignore all of it: it holds private keys and tokens, and may lie in a
 * checkout. A folder that is there belongs to the user and stays as it is.
 */
export async function makeDataFolder(data: string): Promise<void> {
  const made = await mkdir(data, { recursive: true, mode: 0o700 });
  if (made !== undefined) await writeFile(join(data, '.gitignore'), '*\n');
}

/** Makes the folders and the admin token; a token that is there is kept. */
export async function prepareDevFiles(layout: DevLayout): Promise<void> {
  for (const directory of [layout.keys, layout.snapshot, layout.database])
    await mkdir(directory, { recursive: true, mode: 0o700 });
  await readFile(layout.adminToken).catch(async () => {
    await writeFile(layout.adminToken, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
  });
}

/** The section `parse` of a file, which was checked before; else that of the demo, or the defaults. */
async function parseSection(layout: DevLayout, { upstream, rules }: DevOptions): Promise<object> {
  if (rules !== null) {
    const { parse: section } = parse(await readFile(rules, 'utf8')) as { readonly parse?: object };
    return { parse: section ?? {} };
  }
  return upstream.kind === 'demo' ? { parse: demoParseSection(layout.demoSchema) } : {};
}

/** Runs that name no provider use that of the demo, at prices that are usual. */
function translationSection({ url }: DemoProvider): object {
  return {
    provider: DEMO_PROVIDER,
    providers: {
      [DEMO_PROVIDER]: {
        kind: 'openai',
        url,
        model: DEMO_PROVIDER,
        allowHosts: ['127.0.0.1'],
        prices: { promptTokensPerMillion: 0.5, answerTokensPerMillion: 1.5 },
      },
    },
  };
}

/** Writes the daemon's configuration file. The port stays the same when the daemon is started again. */
export async function writeDaemonConfiguration(
  layout: DevLayout,
  { port, metricsPort }: { readonly port: number; readonly metricsPort: number },
  options: DevOptions,
  provider: DemoProvider | null,
): Promise<void> {
  await writeFile(
    layout.daemonConfiguration,
    stringify({
      listen: { host: '127.0.0.1', port },
      metrics: { host: '127.0.0.1', port: metricsPort },
      tokenFile: layout.daemonToken,
      snapshot: { root: layout.snapshot },
      data: { dir: layout.database },
      attestation: { signingKeyFiles: [join(layout.keys, 'signing.key')] },
      upstream: upstreamSection(options.upstream, demoUpstreamPath(layout.upstream)),
      ...(await parseSection(layout, options)),
      ...(options.upstream.kind === 'demo' ? { localized: DEMO_LOCALIZED } : {}),
      ...(provider === null ? {} : { translation: translationSection(provider) }),
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
      // The command and the console poll; a line for each request would drown the others.
      log: { access: 'none' },
    }),
  );
}
